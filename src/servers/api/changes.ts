/** Routes tell the rest of the process of a change once it is on disk: caches, sessions, work in the background. */
import type { DeletedDomain } from '../../records/messages/queue/fail-domain.js'

/** A domain of a workspace. */
export type DomainRef = Pick<DeletedDomain, 'workspaceId' | 'domain'>

interface ChangedMember {
  readonly workspaceId: string
  readonly userId: string
  /** The user no longer has rights in the workspace. */
  readonly removed: boolean
}

interface ChangedWebhook {
  readonly workspaceId: string
  readonly id: string
}

export interface Changes {
  keyRevoked(keyId: string): void
  memberInvited(): void
  memberChanged(member: ChangedMember): void
  workspaceClosed(workspaceId: string): void
  domainChanged(domain: DomainRef): void
  domainDeleted(domain: DeletedDomain): void
  /** Its URL, types or state changed, or it is new or has deliveries that are due. */
  webhookChanged(webhook: ChangedWebhook): void
  /** Resolves when its deliveries are removed, or after a while; then the removal goes on by itself. */
  webhookDeleted(webhook: ChangedWebhook): Promise<void>
}
