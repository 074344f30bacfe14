import type { JSX } from "preact";
import type { EventContent } from "../../src/views/event.ts";
import { count } from "../format.ts";
import { JsonText } from "./json-text.tsx";
import { Instant, Nothing, Stored } from "./text.tsx";

/** All that an event holds. */
export const EventFacts = ({ event }: { readonly event: EventContent }): JSX.Element => (
  <>
    <dl class="facts">
      <Fact name="Time">
        <Instant atMs={event.timestampMs} />
      </Fact>
      <Fact name="Place">
        <span class="number">{`partition ${event.partition}, sequence ${count(event.sequence)}`}</span>
      </Fact>
      <Fact name="Type">{event.type === null ? <Nothing /> : <Stored text={event.type} />}</Fact>
      <Fact name="Key">{event.key === null ? <Nothing /> : <Stored text={event.key} />}</Fact>
      {event.metadata.map(([name, value]) => (
        <div key={name}>
          <dt>
            <Stored text={name} />
          </dt>
          <dd>
            <Stored text={value} mono />
          </dd>
        </div>
      ))}
    </dl>
    <JsonText json={event.payload} label="Payload" />
  </>
);

const Fact = ({ name, children }: { readonly name: string; readonly children: JSX.Element }): JSX.Element => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
