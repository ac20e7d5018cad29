/** Puts changes into force in this process: drops what is cached of what was changed, ends sessions, begins work. */

import type { Log } from '../../base/platform/log.js'
import type { DeletedDomain } from '../../records/messages/queue/fail-domain.js'
import type { Changes, DomainRef } from '../../servers/api/changes.js'
import type { SubmissionListener } from '../../servers/smtp/submission/submission-listener.js'
import { forgetAll, forgetDomain, type Services } from './services.js'

export class ProcessChanges implements Changes {
  constructor(
    private readonly services: Services,
    private readonly submission: SubmissionListener,
    private readonly log: Log,
  ) {}

  keyRevoked(keyId: string): void {
    this.services.apiKeyCache.forget(keyId)
    this.submission.endSessions((principal) => principal.keyId === keyId)
  }

  memberInvited(): void {
    this.services.people.notices.wake()
  }

  /** Members change rarely, so all keys leave the cache. */
  memberChanged({ workspaceId, userId, removed }: Parameters<Changes['memberChanged']>[0]): void {
    this.services.apiKeyCache.drop()
    this.services.workspaceOwners.forget(workspaceId)
    if (!removed) return
    this.submission.endSessions((principal) => principal.workspaceId === workspaceId && principal.userId === userId)
  }

  workspaceClosed(workspaceId: string): void {
    this.anything()
    this.submission.endSessions((principal) => principal.workspaceId === workspaceId)
    this.services.webhooks.closeWorkspace(workspaceId)
    this.services.people.erasures.begin(workspaceId)
  }

  domainChanged(domain: DomainRef): void {
    forgetDomain(this.services, domain)
  }

  /** Begins to fail its queued mail, which goes on by itself. */
  domainDeleted(domain: DeletedDomain): void {
    forgetDomain(this.services, domain)
    this.services.deletedDomains.start(domain)
  }

  webhookChanged(webhook: Parameters<Changes['webhookChanged']>[0]): void {
    this.services.webhooks.refresh(webhook)
  }

  webhookDeleted(webhook: Parameters<Changes['webhookDeleted']>[0]): Promise<void> {
    this.services.webhooks.refresh(webhook)
    return this.services.deletedWebhooks.start(webhook)
  }

  /** Another process has made a commit, or a workspace is closed. */
  anything(): void {
    forgetAll(this.services)
    try {
      this.submission.endSessions((principal) => !this.services.apiKeyCache.isStillValid(principal))
    } catch (error) {
      // Each session checks its key again at its next message.
      this.log.error({ err: error }, 'keys cannot be read')
    }
  }
}
