/** The tools that read. */
import { z } from 'zod'
import { isRecord } from '../../base/platform/records.js'
import { eventTypes } from '../../records/events/payloads.js'
import { emailStatus } from '../../servers/api/emails/email-record.js'
import { defineTool, type Tool } from './tool.js'

const limit = z.int().min(1).max(100).optional().describe('How many items, 1 to 100.')
const offset = z.int().min(0).optional().describe('How many items to leave out at the beginning.')
const cursor = z.string().optional().describe('The next_cursor of the answer before, for the next page.')
const emailId = z
  .string()
  .regex(/^[\w-]{1,64}$/, 'must be the id of an email')
  .describe('The id of an email.')
const place = z.strictObject({ limit, offset })

/** Returns the lines of a story, or the answer itself if it has none. */
function readText(story: unknown): unknown {
  return isRecord(story) && typeof story['text'] === 'string' ? story['text'] : story
}

export const readingTools: readonly Tool[] = [
  defineTool({
    name: 'list_emails',
    description: 'Lists the emails of the workspace, newest first, with status and recipients.',
    input: place.extend({ status: emailStatus.optional().describe('Only emails in this state.') }),
    run: (api, query) => api.get('/v1/emails', query),
  }),
  defineTool({
    name: 'get_email',
    description: 'Reads one email: its content, its recipients and every delivery attempt.',
    input: z.strictObject({
      id: emailId,
      include_html: z.boolean().optional().describe('Also the HTML body, which is long.'),
    }),
    run: async (api, { id, include_html: includesHtml }) => {
      const email = await api.get(`/v1/emails/${id}`)
      if (includesHtml === true || !isRecord(email)) return email
      const { html: _html, ...rest } = email
      return rest
    },
  }),
  defineTool({
    name: 'explain_email',
    description: 'Says in sentences what happened to an email, attempt by attempt, why, and what comes next.',
    input: z.strictObject({ id: emailId }),
    run: async (api, { id }) => readText(await api.get(`/v1/emails/${id}/story`)),
  }),
  defineTool({
    name: 'list_events',
    description: 'Lists what happened to emails, domains and codes, newest first.',
    input: z.strictObject({
      ...{ limit, cursor },
      type: z.enum(eventTypes).optional().describe('Only events of this type.'),
      email_id: emailId.optional(),
      recipient: z.string().optional().describe('Only events about this address.'),
      from: z.string().optional().describe('Only events at this time or later, such as 2030-01-31T09:00:00Z.'),
      to: z.string().optional().describe('Only events before this time.'),
    }),
    run: (api, query) => api.get('/v1/events', query),
  }),
  defineTool({
    name: 'list_suppressions',
    description: 'Lists the addresses to which the workspace sends nothing, newest first, each with the reason.',
    input: z.strictObject({
      ...{ limit, cursor },
      reason: z.enum(['hard_bounce', 'spam_complaint', 'manual', 'unsubscribe']).optional(),
    }),
    run: (api, query) => api.get('/v1/suppressions', query),
  }),
  defineTool({
    name: 'list_domains',
    description: 'Lists the sending domains of the workspace with their state and DNS records.',
    input: place,
    run: (api, query) => api.get('/v1/domains', query),
  }),
  defineTool({
    name: 'get_stats',
    description: 'Counts the emails of the last days by outcome, with rates of delivery, bounces, opens and clicks.',
    input: z.strictObject({
      days: z.int().min(1).max(90).optional().describe('How many days up to now. Without it 30.'),
      domain: z.string().optional().describe('Only emails from this sending domain.'),
      tag: z.string().optional().describe('Only emails with this tag, as name:value.'),
    }),
    run: (api, query) => api.get('/v1/metrics', query),
  }),
  defineTool({
    name: 'list_templates',
    description: 'Lists the templates of the workspace.',
    input: place,
    run: (api, query) => api.get('/v1/templates', query),
  }),
]
