/** POST /v1/contacts/bulk: one operation on many contacts. */
import { z } from 'zod'
import type { Store } from '../../../base/storage/db/database.js'
import {
  applyBulkOperation,
  type BulkCounts,
  type BulkOperation,
  MAX_BULK_CONTACTS,
} from '../../../workspaces/audiences/bulk-contacts.js'
import { json } from '../http/answer.js'
import { missingIssue } from '../http/input/parse-input.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { type Route, route } from '../http/route/route.js'
import { audienceId } from './contact-fields.js'

/** Bytes of a thousand ids, escaped and indented. */
const MAX_IDS_BODY = 1_048_576

const operations = ['delete', 'subscribe', 'unsubscribe', 'move'] as const
const operation = z.enum(operations, `allowed: ${operations.join(', ')}`)

export const bulkRequest = z
  .strictObject({
    contact_ids: withMaxSize(
      MAX_BULK_CONTACTS,
      'contact ids',
      z.array(z.string('allowed: the id of a contact'), 'allowed: a list of ids').min(1, 'allowed: 1 or more ids'),
    ),
    operation,
    audience_id: audienceId.nullable().optional().meta({ description: 'For `move` only: the target audience.' }),
  })
  .superRefine(({ operation, audience_id }, context) => {
    const target = audience_id ?? null
    if (operation === 'move' && target === null) {
      context.addIssue({ code: 'custom', path: ['audience_id'], message: 'is required to move', params: missingIssue })
    }
    if (operation !== 'move' && target !== null) {
      // Otherwise it would look as if the operation were limited to that audience.
      context.addIssue({ code: 'custom', path: ['audience_id'], message: `cannot be combined with ${operation}` })
    }
  })
  .meta({
    id: 'BulkRequest',
    example: { contact_ids: ['01a1ff35-3880-7ef5-bbba-0d7e1de2529c'], operation: 'unsubscribe' },
  })

const bulkResult = z
  .strictObject({
    operation,
    affected: z.int(),
    skipped: z.int().meta({ description: 'Unknown, unchanged, or in a move with an address that the audience has.' }),
    message: z.string(),
  })
  .meta({
    id: 'BulkResult',
    example: { operation: 'unsubscribe', affected: 1, skipped: 0, message: '1 contact unsubscribed, 0 skipped' },
  })

export function bulkRoute(deps: Store): Route {
  return route({
    method: 'POST',
    path: '/contacts/bulk',
    area: 'write',
    tag: 'Contacts',
    summary: 'Delete, subscribe, unsubscribe or move contacts',
    description: `Up to ${MAX_BULK_CONTACTS} contacts in one commit. A repeated id counts once.`,
    body: bulkRequest,
    maxBody: MAX_IDS_BODY,
    answers: { 200: { description: 'The result.', schema: bulkResult } },
    refusals: ['audience_not_found'],
    run: async ({ principal: { workspaceId }, body, now }) => {
      const { operation, contact_ids: ids } = body
      const request: BulkOperation =
        operation === 'move' ? { kind: operation, audienceId: body.audience_id ?? '' } : { kind: operation }
      const done = await applyBulkOperation(deps, workspaceId, request, { ids, now })
      return json(200, { operation, ...done, message: formatSummary(operation, done) } satisfies z.output<
        typeof bulkResult
      >)
    },
  })
}

const pastTenses = { delete: 'deleted', subscribe: 'subscribed', unsubscribe: 'unsubscribed', move: 'moved' } as const

function formatSummary(operation: BulkOperation['kind'], { affected, skipped }: BulkCounts): string {
  return `${affected} ${affected === 1 ? 'contact' : 'contacts'} ${pastTenses[operation]}, ${skipped} skipped`
}
