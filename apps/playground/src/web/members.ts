/** The members, each with what can be done to it. Rows stay while their member lives, so that focus does. */
import type { Deed } from "../members/fleet.ts";
import type { MemberView } from "../views.ts";
import { send } from "./api.ts";
import { button, byId, element, setText } from "./element.ts";

interface Row {
  readonly item: HTMLLIElement;
  readonly update: (member: MemberView) => void;
}

const rows = new Map<string, Row>();

export const showMembers = (members: readonly MemberView[]): void => {
  const list = byId("members", HTMLUListElement);
  const alive = new Set(members.map(({ name }) => name));
  for (const [name, { item }] of rows) {
    if (alive.has(name)) continue;
    item.remove();
    rows.delete(name);
  }
  for (const member of members) {
    const row = rows.get(member.name) ?? rowOf(member);
    row.update(member);
    if (!rows.has(member.name)) list.append(row.item);
    rows.set(member.name, row);
  }
  list.classList.toggle("none", members.length === 0);
};

const rowOf = ({ name, pid }: MemberView): Row => {
  const state = element("span", "state");
  const leases = element("span", "leases");
  const mode = modeOf(name);
  const deed = (text: string, what: Deed, className = ""): HTMLButtonElement => {
    const made = button(text, className, () => void send({ type: "member", name, deed: what }));
    made.setAttribute("aria-label", `${text} ${name}`);
    return made;
  };
  const stop = deed("Stop", "stop");
  const freeze = deed("Freeze", "freeze");
  const thaw = deed("Go on", "thaw");
  const thread = deed("Kill a thread", "kill_thread", "harm");
  const facts = element("span", "facts", element("strong", "", name), ` pid ${pid} `, state, " ", leases);
  const buttons = element("span", "row", mode, stop, freeze, thaw, thread, deed("Kill", "kill", "harm"));
  return {
    item: element("li", "", facts, buttons),
    update: (member) => {
      setText(state, member.state);
      state.dataset.state = member.state;
      setText(leases, `holds ${member.leases}`);
      const isRunning = member.state === "running";
      for (const control of [mode, freeze, thread]) control.disabled = !isRunning;
      stop.disabled = member.state === "stopping";
      freeze.hidden = member.state === "frozen";
      thaw.hidden = member.state !== "frozen";
      if (document.activeElement !== mode) mode.value = member.mode;
    },
  };
};

const modeOf = (name: string): HTMLSelectElement => {
  const select = element("select", "", ...["normal", "slow", "failing"].map((kind) => element("option", "", kind)));
  select.setAttribute("aria-label", `Handlers of ${name}`);
  select.addEventListener("change", () => {
    const ms = Number(byId("slow-ms", HTMLInputElement).value);
    void send({ type: "mode", name, kind: select.value, ...(select.value === "slow" ? { ms } : {}) });
  });
  return select;
};
