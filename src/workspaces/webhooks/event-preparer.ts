/**
 * Prepares an event for its request: adds signed links to `email.received`, reads what a format needs of the record of
 * an email, and makes the bodies that contain parts of an inbound message.
 *
 * Such a body may have tens of megabytes. The processes that parse messages make it, within their limits, and its
 * memory passes through this thread uncopied. Of large messages only a few are under way at a time.
 */
import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import { freeMemory } from '../../base/platform/memory/free-memory.js'
import { OwnerTurns } from '../../base/platform/owner-turns.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { EventPayloads } from '../../records/events/payloads.js'
import { inboundById, readInboundRaw } from '../../records/messages/inbound/inbound-email.js'
import {
  buildAttachmentLink,
  buildMessageLink,
  LINK_LIFETIME,
  type LinkSigner,
} from '../../records/messages/inbound/inbound-links.js'
import type { InboundEmail } from '../../records/messages/inbound/inbound-record.js'
import type { MessageReader } from '../../records/messages/mime/mime-parts.js'
import { findEmailFacts } from './email-facts.js'
import { EventData } from './formats/event-data.js'
import type { DeliveredEvent, EmailFacts } from './formats/event-format.js'
import { isKnownType, needsEmail, needsMessage } from './formats/formats.js'
import { MAX_MESSAGE, planBody } from './formats/inbound/plan-body.js'
import { messageRenderer } from './formats/inbound/render-body.js'
import { MESSAGE_TYPE } from './formats/raw.js'
import type { MessageBody, Undeliverable } from './request-protocol.js'
import type { Webhook } from './webhook-records.js'

interface PreparerDeps {
  readonly read: Read
  readonly clock: Clock
  readonly mime: Pick<MessageReader, 'render'>
  readonly links: LinkSigner
  /** Names who shares the large messages under way. Without it, each workspace has a share. */
  readonly ownerOf?: ((workspaceId: string) => string) | undefined
}

export interface PreparedEvent {
  readonly kind: 'prepared'
  readonly event: DeliveredEvent
  readonly email: EmailFacts | null
  readonly body: MessageBody | null
  /** Call it when the request has ended. */
  readonly release: () => void
}

/** Messages of at least this many bytes are large. */
const LARGE_SIZE = 262_144
/** Large messages under way, because each holds a body of many megabytes: some in all, and one of each owner. */
const MAX_TOGETHER = 3

const keep = (): void => undefined

export class EventPreparer {
  private readonly turns = new OwnerTurns({ together: MAX_TOGETHER })

  constructor(private readonly deps: PreparerDeps) {}

  /** Resolves to null if it cannot be prepared now. */
  async prepare(webhook: Webhook, event: DeliveredEvent): Promise<PreparedEvent | Undeliverable | null> {
    const { format, content } = webhook
    if (!isKnownType(format, event.type)) {
      return { kind: 'undeliverable', reason: `the format ${format} has no event of the type ${event.type}` }
    }
    if (event.type === 'email.received') {
      const linked = { ...event, data: this.addLinks(webhook.workspace_id, event.data) }
      if (needsMessage(format, content)) return this.prepareMessage(webhook, linked)
      return { kind: 'prepared', event: linked, email: null, body: null, release: keep }
    }
    const email = needsEmail(format) ? await findEmailFacts(this.deps.read, webhook.workspace_id, event.data) : null
    return { kind: 'prepared', event, email, body: null, release: keep }
  }

  /** The links are valid from each attempt, so that those of a retry are not expired. */
  private addLinks(workspaceId: string, json: string): string {
    const data: EventPayloads['email.received'] = JSON.parse(json)
    const { links, clock } = this.deps
    const linked = { workspaceId, inboundId: data.inbound_email_id, expiresAt: clock() + LINK_LIFETIME }
    return JSON.stringify({
      ...data,
      attachments: data.attachments.map((attachment, place) => ({
        ...attachment,
        download_url: buildAttachmentLink(links, linked, place),
      })),
      raw_url: buildMessageLink(links, linked),
    } satisfies EventPayloads['email.received'])
  }

  private async prepareMessage(webhook: Webhook, event: DeliveredEvent): Promise<PreparedEvent | Undeliverable | null> {
    const { read, ownerOf = (id: string) => id } = this.deps
    const key = { workspaceId: webhook.workspace_id, id: new EventData(event.data).text('inbound_email_id') }
    const [inbound] = await inboundById(read, key)
    if (inbound === undefined) return gone
    if (inbound.size > MAX_MESSAGE) return this.prepareTooLarge(webhook, event)
    if (inbound.size < LARGE_SIZE) return this.makeBody(webhook, event, { inbound, release: keep })
    const release = await this.turns.take(ownerOf(webhook.workspace_id))
    const prepared = await this.makeBody(webhook, event, { inbound, release }).catch((error: unknown) => {
      release()
      throw error
    })
    if (prepared?.kind !== 'prepared') release()
    return prepared
  }

  /** Formats that can do without the message have links to it. */
  private prepareTooLarge({ format }: Webhook, event: DeliveredEvent): PreparedEvent | Undeliverable {
    if (format === 'posthorn' || format === 'resend') {
      return { kind: 'prepared', event, email: null, body: null, release: keep }
    }
    return { kind: 'undeliverable', reason: `the message has more than ${MAX_MESSAGE} bytes` }
  }

  private async makeBody(
    webhook: Webhook,
    event: DeliveredEvent,
    { inbound, release }: { readonly inbound: InboundEmail; readonly release: () => void },
  ): Promise<PreparedEvent | Undeliverable | null> {
    const { read, mime, clock } = this.deps
    const key = { workspaceId: inbound.workspace_id, id: inbound.id }
    const source = (): Promise<Buffer | undefined> => readInboundRaw(read, key)
    const prepared = { kind: 'prepared', event, email: null, release } as const
    if (webhook.format === 'raw') {
      const bytes = await source()
      return bytes === undefined ? gone : { ...prepared, body: { bytes, contentType: MESSAGE_TYPE } }
    }
    const { facts, contentType, otherwise } = planBody({ webhook, event, inbound, at: clock() })
    let raw: Buffer | undefined
    const noted = async (): Promise<Buffer | undefined> => {
      raw = await source()
      return raw
    }
    try {
      const result = await mime.render(key.workspaceId, noted, messageRenderer, facts)
      if (result.kind === 'rendered') {
        // The process has read it to its end, or there would be no body.
        if (raw !== undefined) freeMemory(raw)
        return { ...prepared, body: { bytes: result.bytes, contentType } }
      }
      if (result.why === 'gone') return gone
      if (otherwise === null) return { kind: 'undeliverable', reason: `the message cannot be read: ${result.message}` }
      return { ...prepared, body: { bytes: Buffer.from(otherwise), contentType } }
    } catch (error) {
      // Too many messages wait for the processes.
      if (error instanceof Refusal) return null
      throw error
    }
  }
}

const gone: Undeliverable = { kind: 'undeliverable', reason: 'the message is no longer stored' }
