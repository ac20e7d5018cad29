/** The result of an import: what was added, and why lines were refused. */
import type { VNode } from 'preact'
import type { components } from '../../api/schema.d.ts'
import { formatNumber } from '../../components/format.ts'
import { Section } from '../../components/page.tsx'
import { RefusedLines } from '../../components/refused-lines.tsx'
import { nameEncoding } from '../../components/text-encodings.ts'
import { Facts } from '../../components/values.tsx'

export type SuppressionImportReport = components['schemas']['SuppressionImportReport']

const providers = {
  postmark: 'Postmark',
  sendgrid: 'SendGrid',
  mailgun: 'Mailgun',
  ses: 'Amazon SES',
  list: 'A plain list',
} as const

export function ImportReport({ report }: { readonly report: SuppressionImportReport }): VNode {
  const { provider, encoding, added, known, refused } = report
  return (
    <Section title="Result">
      <Facts
        facts={[
          { name: 'Recognized as', value: providers[provider] },
          { name: 'Added', value: formatNumber(added) },
          { name: 'On the list before', value: formatNumber(known) },
          { name: 'Refused lines', value: formatNumber(refused) },
          { name: 'Read as', value: nameEncoding(encoding) },
        ]}
      />
      <RefusedLines
        report={report}
        cure="Correct them in the file and import it again: known addresses stay as they are."
      />
    </Section>
  )
}
