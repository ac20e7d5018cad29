/** Broadcasts in several states, as the OpenAPI document shows them. */
import { type BroadcastResource, ratesOfBroadcast } from '../../../outbound/broadcasts/broadcast-resource.js'
import type { BroadcastAct } from '../../../outbound/broadcasts/change-broadcast.js'
import { withResendNames } from './broadcast-answers.js'

const noCounts = {
  ...{ recipients: 0, queued: 0, sent: 0, delivered: 0, bounced: 0, failed: 0, cancelled: 0, complained: 0 },
  ...{ unsubscribed: 0, unique_opens: 0, unique_clicks: 0 },
}

const begun = {
  ...noCounts,
  ...{ recipients: 600, queued: 200, sent: 400, delivered: 394, bounced: 6, unique_opens: 80, unique_clicks: 9 },
}

function buildExample(
  status: BroadcastResource['status'],
  counts: typeof noCounts,
  times: Partial<BroadcastResource> = {},
): ReturnType<typeof withResendNames<BroadcastResource>> {
  return withResendNames({
    id: '01a1ff35-3880-7ef5-bbba-0d7e1de2529c',
    name: 'News in May',
    audience_id: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10',
    from: 'News <news@example.com>',
    reply_to: [],
    subject: 'News for {{first_name|you}}',
    template_id: null,
    status,
    scheduled_for: null,
    created_at: '2030-01-31T08:30:00.000Z',
    updated_at: '2030-01-31T09:00:00.000Z',
    started_at: null,
    finished_at: null,
    ...counts,
    rates: ratesOfBroadcast(counts),
    waits_until: null,
    note: null,
    not_opened_of: null,
    html: '<p>Hello {{first_name|reader}}</p>',
    text: null,
    blocks: null,
    ...times,
  })
}

const STARTED = '2030-01-31T09:00:00.000Z'
const FINISHED = '2030-01-31T09:04:12.000Z'

export const draftExample = buildExample('draft', noCounts)

export const scheduledExample = buildExample('scheduled', noCounts, { scheduled_for: STARTED })

export const sentExample = buildExample(
  'sent',
  {
    ...{ recipients: 1_204, queued: 0, sent: 1_200, delivered: 1_180, bounced: 20, failed: 4, cancelled: 0 },
    ...{ complained: 1, unsubscribed: 12, unique_opens: 590, unique_clicks: 118 },
  },
  { started_at: STARTED, finished_at: FINISHED },
)

const { html: _html, text: _text, blocks: _blocks, ...listed } = sentExample
export const listedPageExample = { object: 'list', data: [listed], has_more: false }

export const actExamples: Readonly<Record<BroadcastAct, ReturnType<typeof buildExample>>> = {
  pause: buildExample('paused', begun, { started_at: STARTED }),
  resume: buildExample('sending', begun, { started_at: STARTED }),
  cancel: buildExample(
    'cancelled',
    { ...begun, queued: 0, cancelled: 200 },
    { started_at: STARTED, finished_at: FINISHED },
  ),
}
