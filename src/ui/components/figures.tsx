/** Large numbers side by side, each with a name and a remark. */
import type { ComponentChildren, VNode } from 'preact'
import './figures.css'

interface Figure {
  readonly name: string
  readonly value: ComponentChildren
  /** A second line: `98.2 % of those sent`. */
  readonly remark?: ComponentChildren
}

export function Figures({ figures }: { readonly figures: readonly Figure[] }): VNode {
  return (
    <dl class="figures">
      {figures.map(({ name, value, remark }) => (
        <div key={name} class="figure">
          <dt>{name}</dt>
          <dd>
            <span class="figure-value">{value}</span>
            {remark === undefined ? null : <span class="figure-remark">{remark}</span>}
          </dd>
        </div>
      ))}
    </dl>
  )
}
