/** The routes of reports about a sending domain: DMARC and TLS, as other servers sent them. */
import { z } from 'zod'
import type { Store } from '../../../base/storage/db/database.js'
import { MAX_ID } from '../../../base/storage/db/paging.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { rememberReceivers } from '../../../inbound/receiving/domain-reports/mail-receivers.js'
import {
  type DomainOfReport,
  type DomainReport,
  type ReportPage,
  reportById,
  reportsBefore,
  rowsOfReport,
} from '../../../inbound/receiving/domain-reports/report-records.js'
import { summarizeReports } from '../../../inbound/receiving/domain-reports/summarize-reports.js'
import { json } from '../http/answer.js'
import { awaitItems, buildPage, idCursor, limit } from '../http/input/paging.js'
import { moment, notFound } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { domainOfCall } from './domain-of-call.js'
import { detailedReport, reportPage, reportTypes, toReportResource } from './report-fields.js'

const tag = 'Domains'

export function domainReportRoutes(deps: Store): readonly Route[] {
  return [listRoute(deps), showRoute(deps)]
}

const listQuery = z.strictObject({
  type: z.enum(reportTypes).optional().meta({ description: 'Only reports of this type.' }),
  from: moment.optional().meta({ description: 'Only reports about times from this moment on.' }),
  to: moment.optional().meta({ description: 'Only reports about times before this moment.' }),
  limit,
  cursor: idCursor,
})

function listRoute({ read }: Store): Route {
  return route({
    method: 'GET',
    path: '/domains/:id/reports',
    area: 'admin-read',
    tag,
    summary: 'List the reports about a domain, newest first',
    description:
      'What other servers report about mail in the name of the domain (DMARC) and about connections to its hosts (TLS). `summary` has the sums of all reports that the query selects and whose reporter has received mail of the domain: who sends in the name of the domain, and passes or fails. It is null on later pages.',
    query: listQuery,
    answers: { 200: { description: 'A page.', schema: reportPage } },
    refusals: ['domain_not_found'],
    run: async (call) => {
      const { limit, cursor, type = 'any', from = 0, to = Number.MAX_SAFE_INTEGER } = call.query
      const place: ReportPage = {
        ...(await refOfCall(read, call)),
        kind: type,
        from,
        to,
        before: cursor ?? MAX_ID,
        limit: limit + 1,
      }
      const summary = cursor === undefined ? await summarizeReports(read, place) : null
      const isKnown = rememberReceivers(read)
      const toResource = async (row: DomainReport) => toReportResource(row, await isKnown(row))
      const page = await awaitItems(buildPage(await reportsBefore(read, place), limit, toResource, ({ id }) => id))
      return json(200, { ...page, summary })
    },
  })
}

function showRoute({ read }: Store): Route {
  return route({
    method: 'GET',
    path: '/domains/:id/reports/:reportId',
    area: 'admin-read',
    tag,
    summary: 'Show a report about a domain with its rows',
    params: { reportId: 'Id of the report.' },
    answers: { 200: { description: 'The report.', schema: detailedReport } },
    refusals: ['domain_not_found', 'not_found'],
    run: async (call) => {
      const ref = await refOfCall(read, call)
      const { reportId: id = '' } = call.params
      const [report] = await reportById(read, { ...ref, id })
      const [stored] = await rowsOfReport(read, { workspaceId: ref.workspaceId, id })
      if (report === undefined || stored === undefined) throw notFound('not-found', 'report', id)
      return json(200, {
        ...toReportResource(report, await rememberReceivers(read)(report)),
        rows: parseJson(stored.rows),
      })
    },
  })
}

async function refOfCall(read: Read, call: Call<unknown, unknown>): Promise<DomainOfReport> {
  const { id: domainId, workspace_id: workspaceId } = await domainOfCall(read, call)
  return { workspaceId, domainId }
}
