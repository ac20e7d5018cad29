/** The events of the workspace for Mailgun's clients, in pages. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { type EventFilter, type ListedEvent, listEvents } from '../../../records/events/event-list.js'
import { emailById } from '../../../records/messages/email/email.js'
import { findEmailsOfRequest } from '../../../records/messages/email/emails-of-request.js'
import { EventData } from '../../../workspaces/webhooks/formats/event-data.js'
import type { EmailFacts } from '../../../workspaces/webhooks/formats/event-format.js'
import { writeMailgunEvent } from '../../../workspaces/webhooks/formats/mailgun-event.js'
import { readPlainTags } from '../../../workspaces/webhooks/formats/plain-tags.js'
import { type Answer, json } from '../http/answer.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { type MailgunDeps, requireDomain } from './mailgun-domain.js'
import {
  decodePage,
  type EventPageQuery,
  encodePage,
  firstPosition,
  mailgunEventQuery,
  toEventQuery,
} from './mailgun-event-query.js'

/** Events that are looked at in one turn of the event loop. */
const STEP = 100
/** Events that one page looks at, if some of them are found. */
const MAX_STEPS = 100
/** Steps after which a search that finds nothing ends. */
const MAX_EMPTY_STEPS = 1_000

const paging = z.object({ first: z.string(), last: z.string(), next: z.string(), previous: z.string() })
const page = z.object({ items: z.array(z.record(z.string(), z.unknown())), paging }).meta({ id: 'MailgunEvents' })

const common = { method: 'GET', area: 'read', tag: 'Events', refusals: [] } as const
const answers = { 200: { description: 'A page. The page after the last is empty.', schema: page } }
const domain = 'A domain of the workspace. The events are those of all its domains.'

export function mailgunEventRoutes(deps: MailgunDeps): readonly Route[] {
  return [
    route({
      ...{ ...common, path: '/v3/:domain/events', summary: 'List events', answers, params: { domain } },
      query: mailgunEventQuery,
      run: (call) => {
        const given = Object.fromEntries(call.search())
        return answerPage(deps, call, given, toEventQuery(call.query, firstPosition))
      },
    }),
    route<unknown>({
      ...{ ...common, path: '/v3/:domain/events/:page', summary: 'List a further page of events', answers },
      params: { domain, page: 'The last part of a URL in `paging`.' },
      // Clients send the query again, which the token has.
      query: z.record(z.string(), z.unknown()).optional(),
      run: (call) => {
        const { query, page } = decodePage(call.params['page'] ?? '')
        return answerPage(deps, call, query, page)
      },
    }),
  ]
}

async function answerPage(
  deps: MailgunDeps,
  call: Call<unknown>,
  given: Readonly<Record<string, string>>,
  query: EventPageQuery,
): Promise<Answer> {
  const name = await requireDomain(deps, call)
  const { workspaceId } = call.principal
  const { messageId } = query
  const emailIds = messageId === undefined ? null : await findEmailsOfRequest(deps.read, { workspaceId, messageId })
  const found = await new EventPage(deps.read, workspaceId, query, emailIds && new Set(emailIds)).find()
  const urlOf = (seq: number | null, isBack: boolean): string =>
    `${deps.publicUrl}/v3/${name}/events/${encodePage(given, { seq, isBack })}`
  const { seq } = query.position
  return json(200, {
    items: found.map(({ event: { id, type, created_at: createdAt, data }, email }) =>
      writeMailgunEvent({ id, type, createdAt, data, email }),
    ),
    paging: {
      first: urlOf(null, false),
      last: urlOf(null, true),
      next: urlOf(found.at(-1)?.event.seq ?? seq, false),
      previous: urlOf(found[0]?.event.seq ?? seq, true),
    },
  } satisfies z.output<typeof page>)
}

interface FoundEvent {
  readonly event: ListedEvent
  /** Null if it is no longer stored. */
  readonly email: EmailFacts | null
}

/** The events of one page. Those that the indexes cannot tell apart are looked at in steps. */
class EventPage {
  private readonly emails = new Map<string, Promise<EmailFacts | null>>()
  private readonly filter: EventFilter

  /** `emailIds` are the emails with the Message-ID of the query. It is null if the query has none. */
  constructor(
    private readonly read: Read,
    private readonly workspaceId: string,
    private readonly query: EventPageQuery,
    private readonly emailIds: ReadonlySet<string> | null,
  ) {
    const { types, recipient, from, to } = query
    const [only, ...others] = emailIds ?? []
    this.filter = { workspaceId, types, recipient, from, to, ...(others.length === 0 ? { emailId: only } : {}) }
  }

  async find(): Promise<readonly FoundEvent[]> {
    const { position, order, limit } = this.query
    if (this.emailIds?.size === 0) return []
    const direction = position.isBack === (order === 'asc') ? 'desc' : 'asc'
    const found: FoundEvent[] = []
    let at = position.seq ?? undefined
    for (let step = 1; ; step += 1) {
      const range = direction === 'asc' ? { after: at } : { before: at }
      const rows = await listEvents(this.read, this.filter, { ...range, order: direction, limit: STEP })
      found.push(...(await Promise.all(rows.map((event) => this.select(event)))).flat())
      at = rows.at(-1)?.seq
      if (rows.length < STEP || found.length >= limit || (step >= MAX_STEPS && found.length > 0)) break
      if (step >= MAX_EMPTY_STEPS) break
      this.emails.clear()
      await waitForStep()
    }
    const page = found.slice(0, limit)
    return position.isBack ? page.reverse() : page
  }

  /** The event, if it is one of those that are asked for. */
  private async select(event: ListedEvent): Promise<readonly FoundEvent[]> {
    const { tags } = this.query
    if (this.emailIds !== null && !this.emailIds.has(event.email_id ?? '')) return []
    const email = await this.findEmail(event.email_id)
    if (tags === null) return [{ event, email }]
    const { words } = readPlainTags(new EventData(event.data), email)
    return tags.some((all) => all.every((tag) => words.includes(tag))) ? [{ event, email }] : []
  }

  /** Each email is read once for the events of a step. */
  private async findEmail(id: string | null): Promise<EmailFacts | null> {
    if (id === null) return null
    const known = this.emails.get(id) ?? this.readEmail(id)
    this.emails.set(id, known)
    return known
  }

  private async readEmail(id: string): Promise<EmailFacts | null> {
    const [email] = await emailById(this.read, { workspaceId: this.workspaceId, id })
    if (email === undefined) return null
    return { ...email, tags: parseJson(email.tags), to_emails: parseJson(email.to_emails) }
  }
}
