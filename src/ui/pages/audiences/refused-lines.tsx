/** Shows why lines of a file are refused. Lines with the same reason are one row. */
import type { VNode } from 'preact'
import { formatNumber } from '../../components/format.ts'
import { Section } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { labelField } from './import-columns.tsx'
import type { Preview } from './import-file.ts'

interface RefusedLinesProps {
  readonly report: Pick<Preview, 'refused' | 'refusal_reasons'>
  /** What the user can do about them. */
  readonly cure: string
  /** The columns of the file, if they are known. */
  readonly titles?: Preview['columns']
}

type Reason = Preview['refusal_reasons'][number]

function toColumns(titles: Preview['columns']): readonly Column<Reason>[] {
  const titleOf = (name: string): string | null | undefined => titles.find(({ field }) => field === name)?.title
  return [
    { title: 'Reason', show: ({ reason }) => toSentence(reason) },
    { title: 'Column', show: ({ field }) => (field === null ? '–' : titleOf(field) || labelField(field)) },
    { title: 'How many', kind: 'number', show: ({ count }) => formatNumber(count) },
    { title: 'In lines', show: describePlaces },
    { title: 'Value', show: ({ value }) => value ?? '–' },
  ]
}

export function RefusedLines({ report, cure, titles = [] }: RefusedLinesProps): VNode | null {
  const { refused, refusal_reasons: reasons } = report
  if (refused === 0) return null
  const counted = reasons.reduce((sum, { count }) => sum + count, 0)
  const others = refused - counted
  const rest = others === 0 ? '' : ` ${formatNumber(others)} more ${others === 1 ? 'has' : 'have'} other reasons.`
  return (
    <Section title="Refused lines" intro={`${cure}${rest}`}>
      <Table
        caption="Refused lines"
        columns={toColumns(titles)}
        rows={reasons}
        rowKey={({ field, reason }) => `${field} ${reason}`}
      />
    </Section>
  )
}

function describePlaces({ count, lines }: Reason): string {
  return `${lines.map(formatNumber).join(', ')}${lines.length < count ? ', …' : ''}`
}

/** The server says how an address is built in the words of its interface. */
function toSentence(reason: string): string {
  const text = reason.replace(
    'is not a mail address, local@domain',
    'is not an e-mail address, such as ann@example.com',
  )
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
