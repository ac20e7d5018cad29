/**
 * Prepares the email of an API request: composes the message, on a thread if its content is large, then prepares it
 * like a message that was submitted by SMTP.
 */

import { domainOf } from '../../base/mail/address.js'
import { scanHeader } from '../../base/mail/header-fields.js'
import { uuidv7 } from '../../base/platform/ids.js'
import { freeMemory } from '../../base/platform/memory/free-memory.js'
import type { Principal } from '../../workspaces/accounts/access/principal.js'
import { toSwitch } from '../../workspaces/domains/rows/sending-domains.js'
import type { EmailTracker, TrackedEmail } from '../tracking/track-email.js'
import type { TrackingHost } from '../tracking/tracking-host.js'
import { type ComposedContent, composeContent, isLargeContent, type UnsubscribeUse } from './compose-content.js'
import type { ComposeThread } from './compose-thread.js'
import { checkSize, minSizeOf } from './composed-size.js'
import type { EmailPreparer, PreparedEmail } from './email-preparer.js'
import type { RequestedContent } from './message-content.js'
import type { VerifiedDomains } from './sender-policy.js'
import type { SendingOptions } from './submitted-message.js'
import { mayHaveUnsubscribeUrl } from './template-content.js'
import type { UnsubscribeLinks } from './unsubscribe-links.js'

export interface RequestedEmail {
  readonly content: RequestedContent
  readonly options: SendingOptions
  /** Whether opens and clicks are tracked if neither the options nor the domain say so. */
  readonly tracksByDefault: boolean
  /** True if the email is also recorded when all of its recipients are suppressed. */
  readonly keepsSuppressed?: boolean
  /** The template from which subject and bodies are made. */
  readonly templateId: string | null
  /** One id for each recipient of To, Cc and Bcc, in this order. */
  readonly recipientIds: readonly string[]
  /** True if the template has put the first recipient's unsubscribe link into the bodies. Other bodies get it here. */
  readonly hasUnsubscribeLink: boolean
}

interface ComposerDeps {
  readonly hostname: string
  readonly publicUrl: string
  readonly preparer: Pick<EmailPreparer, 'prepare'>
  readonly domains: Pick<VerifiedDomains, 'findVerified'>
  readonly tracker: EmailTracker
  readonly trackingHost: TrackingHost
  readonly composing: ComposeThread
  readonly links: UnsubscribeLinks
}

export class EmailComposer {
  constructor(private readonly deps: ComposerDeps) {}

  /** Rejects with a Refusal if the email may not be sent. */
  async compose(principal: Principal, requested: RequestedEmail, now: number): Promise<PreparedEmail> {
    const { preparer, links } = this.deps
    const { content, options, templateId, recipientIds, keepsSuppressed = false } = requested
    checkSize(minSizeOf(content))
    const emailId = uuidv7(now)
    const email = await this.trackedEmailOf(principal, requested, emailId, now)
    const { raw, bodies, tracking, hasUnsubscribeLink } = await this.composeContent(requested, email)
    checkSize(raw.length)
    const recipients = [...content.to, ...content.cc, ...content.bcc]
    const message = {
      // Clients of the API learn about bounces from events, not from a DSN.
      envelopeFrom: '' as const,
      envid: null,
      ret: null,
      recipients: recipients.map(({ address }, index) => ({
        address,
        notify: null,
        orcpt: null,
        id: recipientIds[index],
      })),
      smtputf8: true,
      raw,
      protocol: 'HTTPS',
    }
    const { from, to, cc, replyTo, subject } = content
    const summary = { from: [from] as const, to, cc, replyTo, subject }
    const personal = hasUnsubscribeLink ? { bodies, links } : null
    const header = scanHeader(raw)
    const about = { emailId, source: 'rest' as const, message, header, summary, options, now }
    const prepared = await preparer.prepare(principal, { templateId, tracking, personal, keepsSuppressed, ...about })
    // The prepared email may use this memory, or a part of it.
    if (!prepared.enqueued.bytes.shares(raw)) freeMemory(raw)
    return prepared
  }

  private async trackedEmailOf(
    { workspaceId }: Principal,
    { content: { from }, options: { trackOpens, trackClicks }, tracksByDefault }: RequestedEmail,
    emailId: string,
    now: number,
  ): Promise<TrackedEmail> {
    const domain = domainOf(from.address)
    // An unverified one is refused when the email is prepared.
    const defaults = await this.deps.domains.findVerified(workspaceId, domain)
    const opens = trackOpens ?? toSwitch(defaults?.track_opens ?? null) ?? tracksByDefault
    const clicks = trackClicks ?? toSwitch(defaults?.track_clicks ?? null) ?? tracksByDefault
    return { workspaceId, emailId, domain, opens, clicks, now }
  }

  private composeContent(requested: RequestedEmail, email: TrackedEmail): ComposedContent | Promise<ComposedContent> {
    const { hostname, publicUrl, tracker, trackingHost, composing, links } = this.deps
    const { content } = requested
    const job = { content, email, hostname, unsubscribe: unsubscribeUseOf(links, requested) }
    if (!isLargeContent(content)) return composeContent(job, tracker)
    return composing.compose({ ...job, base: trackingHost.baseFor(email.domain), publicUrl })
  }
}

/** Most bodies have no link, and its token costs a signature. */
function unsubscribeUseOf(
  links: UnsubscribeLinks,
  { content, templateId, recipientIds, hasUnsubscribeLink }: RequestedEmail,
): UnsubscribeUse | null {
  const isTemplate = templateId !== null
  if (isTemplate ? !hasUnsubscribeLink : !mayHaveUnsubscribeUrl(content)) return null
  const first = { recipientId: recipientIds[0] ?? '', from: content.from.address }
  return { url: isTemplate ? null : links.urlOf(first), fields: links.fieldsOf(first, content.fields) }
}
