/** The page: asks for the state a few times a second, and shows the live half or the tour, by the address. */
import { readState, showStatus } from "./api.ts";
import { byId } from "./element.ts";
import { showLive, wireLive } from "./live.ts";
import { showTour, wireTour } from "./tour.ts";

const POLL_MS = 400;
const LOST = "The playground does not answer: was it ended?";

let lastLine = 0;
let isLost = false;

const showView = (): void => {
  const isTour = location.hash === "#tour";
  byId("live", HTMLElement).hidden = isTour;
  byId("tour", HTMLElement).hidden = !isTour;
  byId("to-live", HTMLAnchorElement).ariaCurrent = isTour ? null : "page";
  byId("to-tour", HTMLAnchorElement).ariaCurrent = isTour ? "page" : null;
  scrollTo(0, 0);
};

const look = async (): Promise<void> => {
  try {
    const state = await readState(lastLine);
    lastLine = state.lines.at(-1)?.id ?? lastLine;
    showLive(state);
    showTour(state.tour);
    if (isLost) showStatus("");
    isLost = false;
  } catch (error) {
    isLost = true;
    showStatus(error instanceof TypeError ? LOST : String(error)); // fetch throws a TypeError where nobody answers
  }
};

const watch = async (): Promise<void> => {
  await look();
  setTimeout(() => void watch(), POLL_MS);
};

wireLive();
wireTour();
showView();
addEventListener("hashchange", showView);
await watch();
