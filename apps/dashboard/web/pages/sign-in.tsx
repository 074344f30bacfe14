import type { JSX, TargetedSubmitEvent } from "preact";
import { useState } from "preact/hooks";
import { signIn } from "../state/api.ts";

export const SignInPage = (): JSX.Element => {
  const [isWrong, setWrong] = useState(false);
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get("token");
    signIn(typeof token === "string" ? token.trim() : "").then(
      (isRight) => setWrong(!isRight),
      () => setWrong(true), // not a text that a header can carry, or no server
    );
  };
  return (
    <form class="sign-in" onSubmit={submit}>
      <h1 tabIndex={-1}>Sign in</h1>
      <p class="muted">This dashboard was started with a token. It is asked for once in twelve hours.</p>
      <label>
        Token
        <input name="token" type="password" autocomplete="current-password" required aria-describedby="sign-in-wrong" />
      </label>
      <p id="sign-in-wrong" class="bad" role="alert">
        {isWrong && "That is not the token."}
      </p>
      <button type="submit">Sign in</button>
    </form>
  );
};
