/** One report about a domain, with its rows. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { type Column, Table } from '../../components/table.tsx'
import { Facts, Note, StatusBadge, Time, toWords } from '../../components/values.tsx'
import { type DetailedReport, describeReportType } from './report.ts'

type Row = DetailedReport['rows'][number]
type DmarcRow = Extract<Row, { header_from: string }>
type TlsRow = Extract<Row, { policy_type: string }>

export function ReportPage({ params: { id = '', reportId = '' } }: PageProps): VNode {
  const params = { path: { id, reportId } }
  const report = useLoad(() => unwrap(api.GET('/v1/domains/{id}/reports/{reportId}', { params })), [id, reportId])
  return (
    <Page
      title={report.data === undefined ? 'Report' : `Report of ${report.data.organization || report.data.reporter}`}
      up={{ href: `/domains/${id}?tab=reports`, label: 'Reports' }}
    >
      <Loaded from={report}>{(data) => <ReportParts report={data} />}</Loaded>
    </Page>
  )
}

function ReportParts({ report }: { readonly report: DetailedReport }): VNode {
  return (
    <>
      {report.known_reporter ? null : (
        <Note tone="warn" title="This report counts nowhere">
          <p>{report.reporter} received no mail of this domain. Anyone can make up such a report.</p>
        </Note>
      )}
      <Facts
        facts={[
          { name: 'About', value: describeReportType(report.type) },
          { name: 'Domain', value: report.domain },
          { name: 'Sent by', value: report.reporter },
          { name: 'Id of the report', value: report.report_id },
          { name: 'Policy that was seen', value: report.policy === '' ? '–' : report.policy },
          { name: 'From', value: <Time at={report.from} /> },
          { name: 'Until', value: <Time at={report.to} /> },
          { name: 'Arrived', value: <Time at={report.received_at} /> },
          { name: 'Passed', value: formatNumber(report.passed) },
          { name: 'Failed', value: formatNumber(report.failed) },
        ]}
      />
      <Section title="Rows">
        <Rows rows={report.rows} />
      </Section>
    </>
  )
}

function Rows({ rows }: { readonly rows: readonly Row[] }): VNode {
  const dmarc = rows.flatMap((row) => ('header_from' in row ? [row] : []))
  const tls = rows.flatMap((row) => ('policy_type' in row ? [row] : []))
  return tls.length > 0 ? (
    <Table caption="Connections of the report" columns={tlsColumns} rows={tls} rowKey={(row) => JSON.stringify(row)} />
  ) : (
    <Table caption="Mail of the report" columns={dmarcColumns} rows={dmarc} rowKey={(row) => JSON.stringify(row)} />
  )
}

const passedColumn = {
  title: 'Result',
  show: ({ passed }: { readonly passed: boolean }) => (
    <StatusBadge status={passed ? 'pass' : 'fail'}>{passed ? 'Passed' : 'Failed'}</StatusBadge>
  ),
}

const dmarcColumns: readonly Column<DmarcRow>[] = [
  { title: 'Address', show: ({ source_ip: address }) => (address === '' ? 'All others' : address) },
  { title: 'Messages', kind: 'number', show: ({ messages }) => formatNumber(messages) },
  passedColumn,
  { title: 'What became of it', show: ({ disposition }) => toWords(disposition) },
  { title: 'Author', show: ({ header_from: from }) => from },
  { title: 'DKIM', show: ({ dkim_domain: domain, dkim_result: result }) => describeProof(domain, result) },
  { title: 'SPF', show: ({ spf_domain: domain, spf_result: result }) => describeProof(domain, result) },
]

const tlsColumns: readonly Column<TlsRow>[] = [
  { title: 'Server', show: ({ mx_host: host, source_ip: address }) => host || address || '–' },
  { title: 'Connections', kind: 'number', show: ({ sessions }) => formatNumber(sessions) },
  passedColumn,
  { title: 'Reason', show: ({ result }) => (result === '' ? '–' : toWords(result)) },
  { title: 'Policy', show: ({ policy_type: policy }) => policy },
]

function describeProof(domain: string, result: string): string {
  if (result === '') return 'None'
  return domain === '' ? result : `${result}, ${domain}`
}
