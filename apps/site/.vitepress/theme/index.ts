import DefaultTheme from "vitepress/theme-without-fonts";
import "./rheo.css";

export default DefaultTheme;
