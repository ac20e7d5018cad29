/** Shows who sends in the name of a domain, and with which result, as receivers report it. */
import type { VNode } from 'preact'
import type { components } from '../../api/schema.d.ts'
import { Figures } from '../../components/figures.tsx'
import { formatNumber, formatPercent } from '../../components/format.ts'
import { Section } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { countColumns, DayChart, Uncounted } from './report-parts.tsx'

type Summary = components['schemas']['DomainReportSummary']['dmarc']

interface DmarcSummaryProps {
  readonly domain: string
  readonly summary: Summary
}

export function DmarcSummary({ domain, summary }: DmarcSummaryProps): VNode {
  const { reports, messages, passed, failed, days, uncounted } = summary
  return (
    <Section
      title="Who sends in the name of the domain"
      intro={`Providers report how much mail “from ${domain}” they received, and whether it was proved to be yours (DMARC).`}
    >
      <Figures
        figures={[
          { name: 'Messages', value: formatNumber(messages), remark: `in ${formatNumber(reports)} reports` },
          { name: 'Passed', value: formatNumber(passed), remark: showShare(passed, messages) },
          { name: 'Failed', value: formatNumber(failed), remark: showShare(failed, messages) },
        ]}
      />
      <DayChart title="Messages by day" days={days} />
      {reports === 0 ? null : <SummaryTables summary={summary} />}
      <Uncounted reports={uncounted.reports} />
    </Section>
  )
}

function showShare(part: number, all: number): string {
  return all === 0 ? '–' : formatPercent(part / all)
}

function SummaryTables({ summary: { sources, authenticated, reporters } }: Pick<DmarcSummaryProps, 'summary'>): VNode {
  return (
    <>
      <p class="section-note">
        An address that is yours and fails: set it up before you ask for “quarantine” or “reject”. An address that is
        not yours and fails is a forger, or a server that forwards your mail.
      </p>
      <Table
        caption="By the address that sent"
        showCaption
        columns={[
          { title: 'Address', show: ({ source_ip: address }) => (address === '' ? 'All others' : address) },
          ...countColumns<Summary['sources'][number]>('Messages'),
        ]}
        rows={sources}
        rowKey={({ source_ip: address }) => address}
      />
      <Table
        caption="By the domain that signed or sent it"
        showCaption
        columns={[
          { title: 'Domain', show: ({ domain }) => domain ?? 'None was proved' },
          ...countColumns<Summary['authenticated'][number]>('Messages'),
        ]}
        rows={authenticated}
        rowKey={({ domain }) => domain ?? ''}
      />
      <Table
        caption="By the provider that reports"
        showCaption
        columns={[
          { title: 'Provider', show: ({ reporter, known }) => (known ? reporter : `${reporter} (not counted)`) },
          ...countColumns<Summary['reporters'][number]>('Messages'),
        ]}
        rows={reporters}
        rowKey={({ reporter, known }) => `${reporter} ${known}`}
      />
    </>
  )
}
