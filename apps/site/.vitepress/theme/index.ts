import { type Theme, useRoute } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { nextTick, onMounted, watch } from "vue";
import "./rheo.css";

/** The first page of the theme has no landmark that says where its content is. */
const markMain = (): void => document.querySelector(".VPHome")?.setAttribute("role", "main");

const theme: Theme = {
  extends: DefaultTheme,
  setup: () => {
    const route = useRoute();
    onMounted(markMain);
    watch(
      () => route.path,
      () => void nextTick(markMain),
    );
  },
};

export default theme;
