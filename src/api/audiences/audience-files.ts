/** Files of contacts: into an audience, and out of it. */
import { z } from 'zod'
import { requireAudience } from '../../audiences/audiences.js'
import { exportContacts } from '../../audiences/export-contacts.js'
import {
  type ContactImport,
  countLines,
  type ImportReport,
  importContacts,
  MAX_LINES,
} from '../../audiences/import-contacts.js'
import { contactReport, importLimit } from '../contacts/import-report.js'
import { withFileInMemory } from '../http/input/file-in-memory.js'
import { type Answer, json, type Route, route, uploadRoute } from '../http/route.js'
import {
  acceptedAnswer,
  createRequestJournal,
  type ImportRouteDeps,
  MAX_SYNC_LINES,
  startLongImport,
} from '../imports/imports.js'
import { formatContentDisposition } from '../inbound/attachment-file.js'

const booleanText = z
  .enum(['true', 'false'], 'allowed: true, false')
  .default('false')
  .transform((word) => word === 'true')

const importQuery = z.strictObject({
  resubscribe: booleanText.meta({
    description: 'Whether a `true` in the file subscribes those again who have unsubscribed. Default false.',
  }),
})

const tag = 'Audiences'

export function audienceFileRoutes(deps: ImportRouteDeps): readonly Route[] {
  return [importRoute(deps), exportRoute(deps)]
}

function importRoute(deps: ImportRouteDeps): Route {
  return uploadRoute({
    method: 'POST',
    path: '/audiences/:id/import',
    area: 'write',
    tag,
    summary: 'Import contacts from a CSV file',
    description: 'Addresses that the audience has are changed by what their line says, the others added.',
    query: importQuery,
    limit: importLimit,
    fileDescription: `CSV with the names of the columns in its first line, one of them \`email\`; up to ${MAX_LINES} lines.`,
    fileExample: 'email,first_name\r\nbob@example.com,Bob\r\n',
    answers: { 200: { description: 'What became of the lines.', schema: contactReport }, 202: acceptedAnswer },
    refusals: ['audience_not_found', 'payload_too_large'],
    run: async ({ principal: { workspaceId }, params: { id: audienceId = '' }, query, file, now }) => {
      requireAudience(deps.read, workspaceId, audienceId)
      const wanted = { workspaceId, audienceId, resubscribe: query.resubscribe }
      return withFileInMemory(file, deps.files, workspaceId, (bytes) => runImport(deps, wanted, bytes, now))
    },
  })
}

async function runImport(deps: ImportRouteDeps, wanted: ContactImport, file: Buffer, now: number): Promise<Answer> {
  const { workspaceId, audienceId, resubscribe } = wanted
  const total = await countLines(file)
  if (total > MAX_SYNC_LINES) {
    requireAudience(deps.read, workspaceId, audienceId)
    return startLongImport(
      deps,
      { workspaceId, options: { kind: 'contacts', audienceId, resubscribe }, file, total },
      now,
    )
  }
  return json(200, await importContacts(deps, wanted, file, createRequestJournal<ImportReport>(deps.read, workspaceId)))
}

function exportRoute({ read }: Pick<ImportRouteDeps, 'read'>): Route {
  return route({
    method: 'GET',
    path: '/audiences/:id/export',
    area: 'read',
    tag,
    summary: 'Export the contacts of an audience as a CSV file',
    description: 'An import takes it back. Cells that spreadsheets would take for formulas begin with an apostrophe.',
    answers: {
      200: {
        description: 'The contacts, newest first.',
        type: 'text/csv',
        example: 'email,first_name,last_name,subscribed\r\nbob@example.com,Bob,Lee,true\r\n',
        headers: ['Content-Disposition'],
      },
    },
    refusals: ['audience_not_found'],
    run: ({ principal: { workspaceId }, params: { id = '' } }) => {
      const { name } = requireAudience(read, workspaceId, id)
      const headers = { 'Content-Disposition': formatContentDisposition(`${name}.csv`) }
      const pieces = exportContacts(read, { workspaceId, audienceId: id })
      return { kind: 'stream', type: 'text/csv; charset=utf-8', headers, pieces }
    },
  })
}
