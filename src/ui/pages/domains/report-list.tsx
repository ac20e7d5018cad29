/** The single reports about a domain, newest first. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { toCursorPage, usePages } from '../../api/use-pages.ts'
import { formatNumber } from '../../components/format.ts'
import { Empty } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { Time } from '../../components/values.tsx'
import { describeReportType } from './report.ts'

type Report = components['schemas']['DomainReport']

/** Few, because each is a card of seven lines on a phone. */
const PAGE_SIZE = 10

interface ReportListProps {
  readonly id: string
  /** ISO 8601. */
  readonly from: string
  /** Changes with the choice of `from`. */
  readonly windowKey: string
}

export function ReportList({ id, from, windowKey }: ReportListProps): VNode {
  const pages = usePages(
    async (cursor) => {
      const query = { from, limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) }
      return toCursorPage(await unwrap(api.GET('/v1/domains/{id}/reports', { params: { path: { id }, query } })))
    },
    [id, windowKey],
  )
  return (
    <Section title="Reports">
      <PagedTable
        caption="Reports about the domain"
        pages={pages}
        columns={buildColumns(id)}
        rowKey={({ id: reportId }) => reportId}
        empty={<Empty title="No report in this time" />}
      />
    </Section>
  )
}

function buildColumns(id: string): readonly Column<Report>[] {
  return [
    {
      title: 'Report',
      show: ({ id: reportId, organization, reporter }) => (
        <>
          <Link href={`/domains/${id}/reports/${reportId}`}>{organization || reporter}</Link>
          <span class="row-note">sent by {reporter}</span>
        </>
      ),
    },
    { title: 'About', show: ({ type }) => describeReportType(type) },
    { title: 'From', show: ({ from }) => <Time at={from} kind="day" /> },
    { title: 'Passed', kind: 'number', show: ({ passed }) => formatNumber(passed) },
    { title: 'Failed', kind: 'number', show: ({ failed }) => formatNumber(failed) },
    { title: 'Counts', show: ({ known_reporter: known }) => (known ? 'Yes' : 'No: unknown reporter') },
    { title: 'Arrived', show: ({ received_at: at }) => <Time at={at} kind="relative" /> },
  ]
}
