/** Files of contacts: into an audience, and out of it. */
import { z } from 'zod'
import { foundAudience } from '../audiences/audiences.js'
import { contactsCsv } from '../audiences/export-contacts.js'
import { type ImportReport, importContacts, MAX_LINES } from '../audiences/import-contacts.js'
import type { Clock } from '../platform/clock.js'
import type { Read } from '../storage/prepared.js'
import type { Commit } from '../storage/write.js'
import { type FilesInMemory, withWholeFile } from './file-in-memory.js'
import { importLimit, refusedLines } from './import-report.js'
import { contentDisposition } from './inbound/attachment-file.js'
import { json, type Route, route, uploadRoute } from './route.js'

export interface AudienceFileDeps {
  readonly read: Read
  readonly commit: Commit
  readonly clock: Clock
  readonly files: FilesInMemory
}

const truth = z
  .enum(['true', 'false'], 'allowed: true, false')
  .default('false')
  .transform((word) => word === 'true')

const importQuery = z.strictObject({
  resubscribe: truth.meta({
    description: 'Whether a `true` in the file subscribes those again who have unsubscribed. Default false.',
  }),
})

const report = z
  .strictObject({
    added: z.int(),
    updated: z.int(),
    unchanged: z.int().meta({ description: 'Lines that say what is there already.' }),
    still_unsubscribed: z.int().meta({ description: 'Lines that would have subscribed somebody again.' }),
    ...refusedLines,
  })
  .meta({ id: 'ContactImportReport' })

const tag = 'Audiences'

export function audienceFileRoutes(deps: AudienceFileDeps): readonly Route[] {
  return [importRoute(deps), exportRoute(deps)]
}

function importRoute({ files, ...deps }: AudienceFileDeps): Route {
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
    answers: { 200: { description: 'What became of the lines.', schema: report } },
    refusals: ['audience_not_found', 'payload_too_large'],
    receive: async ({ principal: { workspaceId }, params: { id: audienceId = '' }, query: { resubscribe }, file }) => {
      foundAudience(deps.read, workspaceId, audienceId)
      const done: ImportReport = await withWholeFile(file, files, workspaceId, (bytes) =>
        importContacts(deps, { workspaceId, audienceId, resubscribe }, bytes),
      )
      return json(200, done)
    },
  })
}

function exportRoute({ read }: AudienceFileDeps): Route {
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
      const { name } = foundAudience(read, workspaceId, id)
      const headers = { 'Content-Disposition': contentDisposition(`${name}.csv`) }
      const pieces = contactsCsv(read, { workspaceId, audienceId: id })
      return { kind: 'stream', type: 'text/csv; charset=utf-8', headers, pieces }
    },
  })
}
