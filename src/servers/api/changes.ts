/**
 * Puts changes into force in this process once they are on disk: drops what is cached of what was changed, ends
 * sessions, begins work.
 */
import type { DomainName } from '../../base/mail/address.js'
import type { Log } from '../../base/platform/log.js'
import { waitForNodes } from '../../base/storage/db/change-acknowledgement.js'
import type { Database } from '../../base/storage/db/database.js'
import { dropFollowers, type FollowedTable, type FollowsTables } from '../../base/storage/db/table-changes.js'
import type { ErasureRunner } from '../../base/storage/maintenance/erasure-runner.js'
import type { NoticeWriter } from '../../operations/notices/notice-writer.js'
import type { BroadcastEngine } from '../../outbound/broadcasts/broadcast-engine.js'
import type { Delivery } from '../../outbound/delivery/delivery.js'
import type { ExportRunner } from '../../records/exports/export-runner.js'
import type { DeletedDomainRunner } from '../../records/messages/queue/deleted-domain-runner.js'
import type { DeletedDomain } from '../../records/messages/queue/fail-domain.js'
import type { SuppressionCache } from '../../records/suppressions/suppression-cache.js'
import type { Principal } from '../../workspaces/accounts/access/principal.js'
import type { ApiKeyCache } from '../../workspaces/accounts/keys/api-key-cache.js'
import type { WorkspaceLimits } from '../../workspaces/accounts/limits/workspace-limits.js'
import type { OperatorWorkspaceCache } from '../../workspaces/accounts/workspace/operator-workspace.js'
import type { WorkspaceDirectory } from '../../workspaces/accounts/workspace/workspace-directory.js'
import type { TemplateCache } from '../../workspaces/content/template-cache.js'
import type { SigningKeyCache } from '../../workspaces/domains/dkim/signing-keys.js'
import type { SigningThread } from '../../workspaces/domains/dkim/signing-thread.js'
import type { ForwardRuleCache } from '../../workspaces/domains/forwards/forward-rule-cache.js'
import type { ReceivingDomainCache } from '../../workspaces/domains/receiving-domain-cache.js'
import type { RecheckRunner } from '../../workspaces/domains/recheck-domains.js'
import type { SendingDomainCache } from '../../workspaces/domains/sending-domain-cache.js'
import type { ImportRunner } from '../../workspaces/imports/import-runner.js'
import type { Dispatcher } from '../../workspaces/webhooks/dispatcher.js'
import type { WebhookRemovalRunner } from '../../workspaces/webhooks/webhook-removal.js'

/** A domain of a workspace. */
export interface DomainRef {
  readonly workspaceId: string
  readonly domain: DomainName
}

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

interface DomainCaches {
  readonly domains: SendingDomainCache
  readonly receivingDomains: ReceivingDomainCache
  readonly forwardRules: ForwardRuleCache
  readonly signingKeys: SigningKeyCache
}

interface ChangedParts extends DomainCaches {
  readonly apiKeyCache: ApiKeyCache
  readonly operatorWorkspace: OperatorWorkspaceCache
  readonly workspaces: WorkspaceDirectory
  readonly signing: SigningThread
  readonly suppressions: SuppressionCache
  readonly templates: TemplateCache
  readonly limits: WorkspaceLimits
  readonly delivery: Delivery
  readonly domainChecks: RecheckRunner
  readonly webhooks: Dispatcher
  readonly broadcasts: BroadcastEngine
  readonly exports: ExportRunner
  readonly imports: ImportRunner
  readonly deletedDomains: DeletedDomainRunner
  readonly deletedWebhooks: WebhookRemovalRunner
  readonly people: { readonly notices: NoticeWriter; readonly erasures: ErasureRunner }
}

/** Sessions of submission, which end when their principal may no longer send. */
interface Sessions {
  endSessions(where: (principal: Principal) => boolean): void
  recheckSessions(isValid: (principal: Principal) => Promise<boolean>): Promise<void>
}

/** Milliseconds until a workspace that could not be read is read again. */
const LEARN_PAUSE = 1_000
/** Tries to read such a workspace. */
const MAX_LEARNS = 600

export class Changes {
  /** Everything that is read again when it is needed. */
  private readonly caches: readonly FollowsTables[]

  constructor(
    private readonly parts: ChangedParts,
    private readonly submission: Sessions,
    private readonly database: Pick<Database, 'read' | 'commit' | 'node'>,
    private readonly log: Log,
  ) {
    const { apiKeyCache, operatorWorkspace, domains, receivingDomains, forwardRules, signingKeys } = parts
    const { signing, suppressions, templates } = parts
    this.caches = [
      ...[apiKeyCache, operatorWorkspace, domains, receivingDomains, forwardRules, signingKeys],
      ...[signing, suppressions, templates],
    ]
  }

  /** It resolves when no node accepts the key any more. */
  async keyRevoked(keyId: string): Promise<void> {
    this.parts.apiKeyCache.forget(keyId)
    this.submission.endSessions((principal) => principal.keyId === keyId)
    await this.spread()
  }

  /** A node that does not answer is logged: what was changed is on disk, and in force there when it answers again. */
  private async spread(): Promise<void> {
    try {
      if (await waitForNodes(this.database)) return
      this.log.warn({}, 'another node has not taken note of a change within 5 s')
    } catch (err) {
      this.log.error({ err }, 'other nodes cannot be told of a change')
    }
  }

  memberInvited(): void {
    this.parts.people.notices.wake()
  }

  /**
   * This process has made the workspace, or has given it another plan. It is in effect when it resolves, unless the
   * database cannot be read; then it is read again each second.
   */
  async workspaceChanged(workspaceId: string, triesLeft = MAX_LEARNS): Promise<void> {
    try {
      await this.parts.workspaces.learn(workspaceId)
    } catch (error) {
      this.log.error({ err: error, workspace: workspaceId }, 'a workspace cannot be read')
      if (triesLeft > 0) setTimeout(() => void this.workspaceChanged(workspaceId, triesLeft - 1), LEARN_PAUSE).unref()
    }
  }

  /** Members change rarely, so all keys leave the cache. */
  async memberChanged({ workspaceId, userId, removed }: ChangedMember): Promise<void> {
    this.parts.apiKeyCache.drop()
    if (removed) {
      this.submission.endSessions((principal) => principal.workspaceId === workspaceId && principal.userId === userId)
    }
    await this.workspaceChanged(workspaceId)
    await this.spread()
  }

  /** Nothing of the workspace is accepted, signed or delivered any more. */
  async workspaceClosed(workspaceId: string): Promise<void> {
    for (const cache of this.caches) cache.drop()
    this.submission.endSessions((principal) => principal.workspaceId === workspaceId)
    this.parts.webhooks.closeWorkspace(workspaceId)
    this.parts.people.erasures.begin(workspaceId)
    this.parts.exports.refresh()
    await this.workspaceChanged(workspaceId)
    await this.parts.broadcasts.recheck()
    await this.spread()
  }

  domainChanged(domain: DomainRef): void {
    forgetDomain(this.parts, domain)
  }

  /** Begins to fail its queued mail, which goes on by itself. No node sends for the domain when it resolves. */
  async domainDeleted(domain: DeletedDomain): Promise<void> {
    forgetDomain(this.parts, domain)
    this.parts.deletedDomains.start(domain)
    await this.spread()
  }

  /** Its URL, types or state changed, or it is new or has deliveries that are due. */
  async webhookChanged(webhook: ChangedWebhook): Promise<void> {
    await this.parts.webhooks.refresh(webhook)
  }

  /** Resolves when its deliveries are removed, or after a while; then the removal goes on by itself. */
  async webhookDeleted(webhook: ChangedWebhook): Promise<void> {
    await this.parts.webhooks.refresh(webhook)
    return this.parts.deletedWebhooks.start(webhook)
  }

  /**
   * Another process has changed these tables that are followed, or has done these acts. It is in effect when this
   * resolves. It rejects if something cannot be read now. Calls must not overlap.
   */
  async madeElsewhere(changed: ReadonlySet<FollowedTable>): Promise<void> {
    const { domainChecks, webhooks, exports, imports, workspaces, delivery, broadcasts } = this.parts
    // A command may have changed anything.
    const has = (...tables: readonly FollowedTable[]): boolean =>
      ['commands' as const, ...tables].some((table) => changed.has(table))
    dropFollowers(this.caches, changed)
    if (has('domains', 'domain_checks')) domainChecks.wake()
    if (has('webhooks', 'webhook_replays')) webhooks.reload()
    if (has('exports', 'erasures')) exports.refresh()
    if (changed.has('dropped_mail')) delivery.dropMail()
    // All of them begin at once. One that fails does not stop the others.
    const outcomes = await Promise.allSettled([
      has(...this.parts.apiKeyCache.follows) ? this.endRevoked() : undefined,
      workspaces.follows.some((table) => changed.has(table)) ? workspaces.reload() : undefined,
      has('queue_acts', 'hold_rules') ? delivery.refresh() : changed.has('due_mail') && delivery.lookAgain(),
      has('broadcasts', 'workspaces') ? broadcasts.recheck() : undefined,
      has('exports') ? exports.takeUp() : undefined,
      has('imports') ? imports.takeUp() : undefined,
      has('erasures') ? this.followErasures() : undefined,
    ])
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }

  /** Ends for each workspace that is closed what this node does for it, and begins to erase it if that is this node's work. */
  private async followErasures(): Promise<void> {
    const { people, webhooks } = this.parts
    for (const workspaceId of await people.erasures.takeUp()) webhooks.closeWorkspace(workspaceId)
  }

  private async endRevoked(): Promise<void> {
    try {
      await this.submission.recheckSessions((principal) => this.parts.apiKeyCache.isStillValid(principal))
    } catch (error) {
      // Each session checks its key again at its next message.
      this.log.error({ err: error }, 'keys cannot be read')
    }
  }
}

/** Call it when this process has changed a domain. It drops what is cached of it, and nothing else. */
export function forgetDomain(
  { domains, receivingDomains, forwardRules, signingKeys }: DomainCaches,
  { workspaceId, domain }: DomainRef,
): void {
  domains.forget(workspaceId, domain)
  receivingDomains.forget(domain)
  forwardRules.forget(workspaceId, domain)
  signingKeys.forget(workspaceId, domain)
}
