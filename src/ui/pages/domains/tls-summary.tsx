/** Shows how encrypted connections of other servers to the hosts of a domain went, as they report it. */
import type { VNode } from 'preact'
import type { components } from '../../api/schema.d.ts'
import { Figures } from '../../components/figures.tsx'
import { formatNumber } from '../../components/format.ts'
import { Section } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { toWords } from '../../components/values.tsx'
import { countColumns, DayChart, Uncounted } from './report-parts.tsx'

type Summary = components['schemas']['DomainReportSummary']['tls']

interface TlsSummaryProps {
  readonly domain: string
  readonly summary: Summary
}

export function TlsSummary({ domain, summary }: TlsSummaryProps): VNode | null {
  const { reports, sessions, passed, failed, failures, reporters, days, uncounted } = summary
  if (reporters.length === 0) return null
  return (
    <Section
      title="Encryption of received mail"
      intro={`Other servers report whether their connections to the mail servers of ${domain} were encrypted (TLS).`}
    >
      <Figures
        figures={[
          { name: 'Connections', value: formatNumber(sessions), remark: `in ${formatNumber(reports)} reports` },
          { name: 'Encrypted', value: formatNumber(passed) },
          { name: 'Failed', value: formatNumber(failed) },
        ]}
      />
      <DayChart title="Connections by day" days={days} />
      {failures.length === 0 ? null : (
        <Table
          caption="By the reason of the failure"
          showCaption
          columns={[
            { title: 'Reason', show: ({ result }) => toWords(result) },
            { title: 'Connections', kind: 'number', show: ({ sessions: count }) => formatNumber(count) },
          ]}
          rows={failures}
          rowKey={({ result }) => result}
        />
      )}
      <Table
        caption="By the server that reports on TLS"
        showCaption
        columns={[
          { title: 'Reporter', show: ({ reporter, known }) => (known ? reporter : `${reporter} (not counted)`) },
          ...countColumns<Summary['reporters'][number]>('Connections'),
        ]}
        rows={reporters}
        rowKey={({ reporter, known }) => `${reporter} ${known}`}
      />
      <Uncounted reports={uncounted.reports} />
    </Section>
  )
}
