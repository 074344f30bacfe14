import type { JSX } from "preact";
import type { TreeNode } from "../../src/views/tree.ts";
import { ChildBadge } from "./states.tsx";
import { Stored } from "./text.tsx";

/** Parts under those that supervise them. */
export const Tree = ({ nodes }: { readonly nodes: readonly TreeNode[] }): JSX.Element => (
  <ul class="tree">
    {nodes.map((node) => (
      <li key={node.id}>
        <Node node={node} />
        {node.children.length > 0 && <Tree nodes={node.children} />}
      </li>
    ))}
  </ul>
);

const Node = ({ node }: { readonly node: TreeNode }): JSX.Element => (
  <div class="node">
    <div class="node-head">
      <span class="node-kind muted">
        <Stored text={node.kind} />
      </span>
      <strong>
        <Stored text={node.id} />
      </strong>
      <ChildBadge state={node.state} />
      {node.restarts > 0 && (
        <span class="warn number">
          {node.restarts} {node.restarts === 1 ? "restart" : "restarts"}
        </span>
      )}
    </div>
    {node.lastError !== null && (
      <p class="last-error">
        <Stored text={node.lastError} />
      </p>
    )}
    {node.details.length > 0 && (
      <dl class="details">
        {node.details.map(([name, value]) => (
          <div key={name}>
            <dt>
              <Stored text={name} />
            </dt>
            <dd>
              <Stored text={value} />
            </dd>
          </div>
        ))}
      </dl>
    )}
  </div>
);
