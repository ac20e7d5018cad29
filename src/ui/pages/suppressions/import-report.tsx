/** The result of an import: what was added, and why lines were refused. */
import type { VNode } from 'preact'
import type { components } from '../../api/schema.d.ts'
import { formatNumber } from '../../components/format.ts'
import { Section } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Facts } from '../../components/values.tsx'

export type SuppressionImportReport = components['schemas']['SuppressionImportReport']
type RefusedLine = SuppressionImportReport['refusals'][number]

const providers = {
  postmark: 'Postmark',
  sendgrid: 'SendGrid',
  mailgun: 'Mailgun',
  ses: 'Amazon SES',
  list: 'A plain list',
} as const

export function ImportReport({ report }: { readonly report: SuppressionImportReport }): VNode {
  const { provider, added, known, refused } = report
  return (
    <Section title="Result">
      <Facts
        facts={[
          { name: 'Recognized as', value: providers[provider] },
          { name: 'Added', value: formatNumber(added) },
          { name: 'On the list before', value: formatNumber(known) },
          { name: 'Refused lines', value: formatNumber(refused) },
        ]}
      />
      <RefusedLines report={report} />
    </Section>
  )
}

function RefusedLines({ report: { refused, refusals } }: { readonly report: SuppressionImportReport }): VNode | null {
  if (refusals.length === 0) return null
  const first = refused > refusals.length ? ` The first ${formatNumber(refusals.length)} are shown.` : ''
  return (
    <Section
      title="Refused lines"
      intro={`Correct them and import the file again: known addresses stay as they are.${first}`}
    >
      <Table
        caption="Refused lines"
        columns={columns}
        rows={refusals.map((line, at) => ({ ...line, at }))}
        rowKey={({ at }) => String(at)}
      />
    </Section>
  )
}

const columns: readonly Column<RefusedLine>[] = [
  { title: 'Line', show: ({ line }) => formatNumber(line) },
  { title: 'Column', show: ({ field }) => field ?? '–' },
  { title: 'Value', show: ({ value }) => value ?? '–' },
  { title: 'Why', show: ({ reason }) => reason },
]
