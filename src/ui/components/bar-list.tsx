/** A table whose rows have a bar of parts next to their numbers, for comparison: mail by provider, bounces by reason. */
import type { ComponentChildren, VNode } from 'preact'
import './bar-list.css'
import { formatNumber } from './format.ts'
import { Table } from './table.tsx'

interface BarRow {
  readonly name: string
  /** Below the name. */
  readonly remark?: ComponentChildren
  /** One number for each part. */
  readonly values: readonly number[]
}

interface BarListProps {
  readonly caption: string
  /** The title of the column of names: `Provider`. */
  readonly title: string
  readonly parts: readonly string[]
  readonly rows: readonly BarRow[]
}

/** The longest bar has this width. The picture is as wide as its cell. */
const WIDTH = 100

export function BarList({ caption, title, parts, rows }: BarListProps): VNode {
  const longest = Math.max(1, ...rows.map(sumOf))
  return (
    <Table
      caption={caption}
      columns={[
        {
          title,
          show: ({ name, remark }: BarRow) => (
            <>
              {name}
              {remark === undefined ? null : <span class="row-note">{remark}</span>}
            </>
          ),
        },
        { title: 'Share', show: ({ values }: BarRow) => <Bar values={values} longest={longest} /> },
        ...parts.map((part, at) => ({
          title: part,
          kind: 'number' as const,
          show: ({ values }: BarRow) => formatNumber(values[at] ?? 0),
        })),
      ]}
      rows={rows}
      rowKey={({ name }) => name}
    />
  )
}

function sumOf({ values }: Pick<BarRow, 'values'>): number {
  return values.reduce((sum, value) => sum + value, 0)
}

/** The numbers are in the other cells, so screen readers skip it. */
function Bar({ values, longest }: { readonly values: readonly number[]; readonly longest: number }): VNode {
  const widths = values.map((value) => (value / longest) * WIDTH)
  const startOf = (place: number): number => widths.slice(0, place).reduce((sum, width) => sum + width, 0)
  return (
    <svg class="part-bar" viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
      {widths.map((width, at) => (
        <rect key={at} class={`part-bar-${at + 1}`} x={startOf(at)} y="0" width={width} height="10" />
      ))}
    </svg>
  )
}
