/** PATCH /v1/emails/:id and POST /v1/emails/:id/cancel, which need an email that is still scheduled. */

import { z } from 'zod'
import type { Store } from '../../../base/storage/db/database.js'
import type { QueueRunner } from '../../../outbound/delivery/queue-runner.js'
import { parseReleaseTime } from '../../../outbound/sending/schedule.js'
import { type ResourceDeps, readChangedEmail } from '../../../records/messages/email-resource.js'
import { cancelScheduled, reschedule, sendScheduledNow } from '../../../records/messages/scheduled-change.js'
import { json } from '../http/answer.js'
import { notBoth, required } from '../http/input/field-rules.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { emailRecord, toEmailRecord } from './email-record.js'
import { releaseText, releaseTextWithoutWords } from './email-request.js'
import { viewerOf } from './show.js'

export interface EmailChangeDeps extends ResourceDeps, Store {
  readonly delivery: { readonly runner: Pick<QueueRunner, 'markDue'> }
}

const body = z
  .strictObject({
    scheduled_for: releaseText.optional().meta({
      description: 'ISO 8601 with an offset or `Z`, at most 30 days ahead; in the past means now.',
      example: '2030-01-31T09:00:00Z',
    }),
    scheduled_at: releaseTextWithoutWords.optional(),
  })
  .check(required('scheduled_for', 'scheduled_at'), notBoth('scheduled_for', 'scheduled_at'))
  .meta({ id: 'EmailChange', example: { scheduled_for: '2030-01-31T09:00:00Z' } })

export function rescheduleRoute(deps: EmailChangeDeps): Route {
  return route({
    method: 'PATCH',
    path: '/emails/:id',
    area: 'send',
    tag: 'Emails',
    summary: 'Send a scheduled email at another time',
    body,
    answers: { 200: { description: 'The email', schema: emailRecord } },
    refusals: ['email_not_found', 'conflict'],
    run: async ({ principal, params: { id = '' }, body: { scheduled_for, scheduled_at = '' }, now }) => {
      const viewer = viewerOf(principal)
      const at = parseReleaseTime(scheduled_for ?? scheduled_at, now)
      if (at === null) await sendScheduledNow(deps, viewer, id, now)
      else await reschedule(deps, viewer, id, at)
      deps.delivery.runner.markDue(viewer.workspaceId, at ?? now)
      return json(200, toEmailRecord(await readChangedEmail(deps, viewer, id)))
    },
  })
}

export function cancelRoute(deps: EmailChangeDeps): Route {
  return route({
    method: 'POST',
    path: '/emails/:id/cancel',
    area: 'send',
    tag: 'Emails',
    summary: 'Cancel a scheduled email',
    answers: { 200: { description: 'The email, cancelled', schema: emailRecord } },
    refusals: ['email_not_found', 'conflict'],
    run: async ({ principal, params: { id = '' }, now }: Call) => {
      const viewer = viewerOf(principal)
      await cancelScheduled(deps, viewer, id, now)
      return json(200, toEmailRecord(await readChangedEmail(deps, viewer, id)))
    },
  })
}
