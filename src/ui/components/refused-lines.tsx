/** Shows why lines of a file are refused. Lines with the same reason are one row. */
import type { VNode } from 'preact'
import type { components } from '../api/schema.d.ts'
import { formatNumber } from './format.ts'
import { Section } from './page.tsx'
import { type Column, Table } from './table.tsx'

type Report = components['schemas']['SuppressionImportReport']

interface RefusedLinesProps {
  readonly report: Pick<Report, 'refused' | 'refusal_reasons'>
  /** What the user can do about them. */
  readonly cure: string
}

type Reason = Report['refusal_reasons'][number]

const columns: readonly Column<Reason>[] = [
  { title: 'Reason', show: ({ reason }) => reason },
  { title: 'Column', show: ({ field }) => field ?? '–' },
  { title: 'Lines', kind: 'number', show: ({ count }) => formatNumber(count) },
  { title: 'Where', show: describePlaces },
  { title: 'Value', show: ({ value }) => value ?? '–' },
]

export function RefusedLines({ report, cure }: RefusedLinesProps): VNode | null {
  const { refused, refusal_reasons: reasons } = report
  if (refused === 0) return null
  const counted = reasons.reduce((sum, { count }) => sum + count, 0)
  const others = refused - counted
  const rest = others === 0 ? '' : ` ${formatNumber(others)} more ${others === 1 ? 'has' : 'have'} other reasons.`
  return (
    <Section title="Refused lines" intro={`${cure}${rest}`}>
      <Table
        caption="Refused lines"
        columns={columns}
        rows={reasons}
        rowKey={({ field, reason }) => `${field} ${reason}`}
      />
    </Section>
  )
}

function describePlaces({ count, lines }: Reason): string {
  const numbers = lines.map(formatNumber).join(', ')
  return `${count === 1 ? 'line' : 'lines'} ${numbers}${lines.length < count ? ', …' : ''}`
}
