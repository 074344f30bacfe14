import { render } from "preact";
import { App } from "./app.tsx";
import { listenForKeys } from "./state/keys.ts";
import { applyTheme } from "./state/theme.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/table.css";
import "./styles/parts.css";
import "./styles/strip.css";
import "./styles/forms.css";

const root = document.getElementById("app");
if (root === null) throw new TypeError("index.html has no #app.");
applyTheme();
listenForKeys();
render(<App />, root);
