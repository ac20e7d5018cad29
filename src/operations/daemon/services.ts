/** Builds everything behind the listeners, once: caches, the queue, threads, and periodic work. */

import type { Database } from '../../base/storage/db/database.js'
import { type LeaderService, LeaderWork } from '../../base/storage/db/leader-work.js'
import { RemovalResumer } from '../../base/storage/db/removal-resumer.js'
import type { DiskGuard } from '../../base/storage/health/disk-guard.js'
import { contentAnalyzer, type InboundReader } from '../../inbound/receiving/analysis/inbound-analyzer.js'
import { MailReceivers } from '../../inbound/receiving/domain-reports/mail-receivers.js'
import type { Receiving } from '../../inbound/receiving/receiving.js'
import type { Breaker } from '../../outbound/breaker/breaker.js'
import type { BroadcastEngine } from '../../outbound/broadcasts/broadcast-engine.js'
import type { Delivery } from '../../outbound/delivery/delivery.js'
import { TlsReports } from '../../outbound/delivery/tls-reports/tls-reports.js'
import { HitRecorder } from '../../outbound/tracking/recorder.js'
import { ExportRunner } from '../../records/exports/export-runner.js'
import { defaultMimeLimits, MimeReader } from '../../records/messages/mime/mime-parts.js'
import { DeletedDomainRunner } from '../../records/messages/queue/deleted-domain-runner.js'
import type { DeletedDomain } from '../../records/messages/queue/fail-domain.js'
import type { SuppressionCache } from '../../records/suppressions/suppression-cache.js'
import { type DomainRef, forgetDomain } from '../../servers/api/changes.js'
import { ApiKeyCache } from '../../workspaces/accounts/keys/api-key-cache.js'
import { WorkspaceLimits } from '../../workspaces/accounts/limits/workspace-limits.js'
import { OperatorWorkspaceCache } from '../../workspaces/accounts/workspace/operator-workspace.js'
import { WorkspaceDirectory } from '../../workspaces/accounts/workspace/workspace-directory.js'
import { type AudienceRemovalRunner, createAudienceRemovalRunner } from '../../workspaces/audiences/audience-removal.js'
import { TemplateCache } from '../../workspaces/content/template-cache.js'
import { SigningKeyCache } from '../../workspaces/domains/dkim/signing-keys.js'
import { SigningThread } from '../../workspaces/domains/dkim/signing-thread.js'
import { ForwardRuleCache } from '../../workspaces/domains/forwards/forward-rule-cache.js'
import type { PolicyFinder } from '../../workspaces/domains/mta-sts/find-policy.js'
import { ReceivingDomainCache } from '../../workspaces/domains/receiving-domain-cache.js'
import type { RecheckRunner } from '../../workspaces/domains/recheck-domains.js'
import type { RotationDeps } from '../../workspaces/domains/rotate-keys.js'
import { SendingDomainCache } from '../../workspaces/domains/sending-domain-cache.js'
import { ensureServiceIdentity, type ServiceIdentity } from '../../workspaces/domains/service-identity.js'
import { ImportRunner } from '../../workspaces/imports/import-runner.js'
import { SmsService } from '../../workspaces/sms/service/sms-service.js'
import type { Dispatcher } from '../../workspaces/webhooks/dispatcher.js'
import type { RequestThread } from '../../workspaces/webhooks/request-thread.js'
import { createWebhookRemovalRunner, type WebhookRemovalRunner } from '../../workspaces/webhooks/webhook-removal.js'
import { DailyChecks } from '../doctor/daily/daily-checks.js'
import { Housekeeping } from '../upkeep/housekeeping.js'
import { watchSetBack } from '../upkeep/set-back-clock.js'
import { watchDisk } from '../upkeep/storage-watch.js'
import { wireBreaker } from './breaker.js'
import { wireBroadcasts } from './broadcasts.js'
import { type DaemonOptions, defaultStopTimeouts, type StartOptions, type StopSteps } from './daemon-options.js'
import { openDelivery } from './delivery.js'
import { wireDomainChecks, wireOwnPolicy } from './domains.js'
import { type Edges, systemEdges } from './edges.js'
import { type People, wirePeople } from './people.js'
import { openReceiving } from './receiving.js'
import { wireWebhooks } from './webhooks.js'

export interface Services {
  readonly suppressions: SuppressionCache
  readonly identity: ServiceIdentity
  readonly apiKeyCache: ApiKeyCache
  readonly operatorWorkspace: OperatorWorkspaceCache
  readonly workspaces: WorkspaceDirectory
  readonly domains: SendingDomainCache
  readonly receivingDomains: ReceivingDomainCache
  readonly forwardRules: ForwardRuleCache
  readonly signingKeys: SigningKeyCache
  readonly signing: SigningThread
  readonly delivery: Delivery
  readonly receiving: Receiving
  readonly limits: WorkspaceLimits
  readonly disk: DiskGuard
  readonly mime: InboundReader
  readonly templates: TemplateCache
  readonly deletedDomains: DeletedDomainRunner
  readonly deletedAudiences: AudienceRemovalRunner
  readonly deletedWebhooks: WebhookRemovalRunner
  readonly webhooks: Dispatcher
  readonly webhookThread: RequestThread
  readonly domainChecks: RecheckRunner
  readonly rotationDeps: RotationDeps
  readonly people: People
  readonly imports: ImportRunner
  readonly broadcasts: BroadcastEngine
  readonly breaker: Breaker
  readonly exports: ExportRunner
  /** Records opens and clicks. */
  readonly hits: HitRecorder
  readonly sms: SmsService
  readonly doctor: DailyChecks
  /** What one node does for all. */
  readonly leaderWork: LeaderWork
  /** Finds our own MTA-STS policy. */
  readonly policies: PolicyFinder
}

export async function openServices(
  options: StartOptions,
  database: Database,
  suppressions: SuppressionCache,
  stopSteps: StopSteps,
): Promise<Services> {
  const { config, settings, clock, log, logs, observers, stopTimeouts = defaultStopTimeouts } = options
  const identity = await ensureServiceIdentity(database, config.service.mail_from, clock())
  options.addressHider?.useKey(identity.linkSecret)
  const edges = { ...systemEdges(), ...options.edges }
  const common = { config, settings, clock, log, logs, edges, database, identity, observers }
  const logAs = (room: Parameters<typeof logs.of>[0]): typeof common => ({ ...common, log: logs.of(room) })
  const caches = await openCaches(common)
  const disk = await watchDisk({ config, log: logs.of('storage') }, stopSteps)
  const limits = registerStop(stopSteps, await WorkspaceLimits.open({ ...common, ...caches, disk }))
  const findLater: Parameters<typeof wireBreaker>[1] = () => ({ holdRules: delivery.holdRules, broadcasts })
  const breaker = registerStop(stopSteps, wireBreaker({ ...logAs('delivery'), ...caches }, findLater))
  const hooks = openHooks({ ...logAs('webhooks'), ...caches }, stopSteps, stopTimeouts.delivery)
  const behind = { ...common, ...caches, inboundBytes: limits.inboundBytes, suppressions, breaker, ...hooks }
  const engines = await openEngines(behind, stopSteps, stopTimeouts)
  const housekeeping = new Housekeeping(common)
  const { delivery } = engines
  const removals = openRemovals(common, delivery, stopSteps)
  const people = wirePeople({ ...logAs('notices'), delivery })
  const checking = wireDomainChecks(logAs('domains'), (place: DomainRef) => forgetDomain(caches, place))
  const exports = openExports({ ...logAs('exports'), disk }, caches)
  const imports = openImports(logAs('imports'), caches)
  const hits = registerStop(stopSteps, openHitRecorder(logAs('tracking')))
  const ofBroadcasts = { ...logAs('broadcasts'), ...caches, delivery, limits, suppressions }
  const broadcasts = registerStop(stopSteps, wireBroadcasts(ofBroadcasts))
  registerStop(stopSteps, await watchSetBack({ ...common, ...database, ...hooks, delivery, housekeeping }))
  const sms = registerStop(stopSteps, await openSms(logAs('sms')))
  const doctor = registerStop(stopSteps, new DailyChecks(logAs('doctor')))
  const ofLeader = [housekeeping, checking.domainChecks, people, imports, exports]
  const leaderWork = registerStop(stopSteps, openLeaderWork(logAs('storage'), removals, ofLeader))
  stopSteps.push(checking.stopAsking)
  const work = {
    ...hooks,
    people,
    leaderWork,
    ...checking,
    imports,
    exports,
    hits,
    broadcasts,
    breaker,
    sms,
    doctor,
    disk,
  }
  return { ...caches, ...engines, ...removals, ...work, limits, suppressions, identity }
}

/** Opens the processes that parse messages too, because some webhooks get messages. */
function openHooks(
  own: CommonDeps & Caches,
  stopSteps: StopSteps,
  stopTimeout: number,
): Pick<Services, 'webhooks' | 'webhookThread' | 'mime'> {
  const mime = new MimeReader(defaultMimeLimits, contentAnalyzer, own.workspaces.ownerOf)
  stopSteps.push(() => mime.close())
  return { mime, ...wireWebhooks({ ...own, mime }, stopSteps, stopTimeout) }
}

type Removals = Pick<Services, 'deletedDomains' | 'deletedAudiences' | 'deletedWebhooks'>

function openRemovals({ database, log, logs }: CommonDeps, delivery: Delivery, stopSteps: StopSteps): Removals {
  const onWalkEnd = ({ workspaceId, domain }: DeletedDomain): void => delivery.dropMailFrom(workspaceId, domain)
  const deletedDomains = registerStop(stopSteps, new DeletedDomainRunner({ ...database, log, onWalkEnd }))
  const deletedAudiences = registerStop(stopSteps, createAudienceRemovalRunner({ ...database, log }))
  const deletedWebhooks = registerStop(stopSteps, createWebhookRemovalRunner({ ...database, log: logs.of('webhooks') }))
  return { deletedDomains, deletedAudiences, deletedWebhooks }
}

/** A removal goes on where it was begun. Those that others have left are resumed by the node that leads. */
function openLeaderWork(
  { database: { node }, log }: CommonDeps,
  { deletedAudiences, deletedWebhooks }: Removals,
  services: readonly LeaderService[],
): LeaderWork {
  const resuming = [deletedAudiences, deletedWebhooks].map(
    (removals) => new RemovalResumer({ resume: () => removals.resume(), log }),
  )
  return new LeaderWork(node, log, [...resuming, ...services])
}

function openHitRecorder({ clock, log, database, observers }: CommonDeps): HitRecorder {
  const { onHitsRecorded: onRecorded, onHitLeftOut: onLeftOut } = observers ?? {}
  return new HitRecorder({ ...database, clock, log, onRecorded, onLeftOut })
}

function openSms({ edges, identity: { smsSecret: secret }, observers, ...common }: CommonDeps): Promise<SmsService> {
  return SmsService.open({ ...common, ...edges, secret, onSend: observers?.onSmsSend, onCheck: observers?.onSmsCheck })
}

function openTlsReports({ logs, edges, database, observers, ...common }: CommonDeps): Promise<TlsReports> {
  const log = logs.of('delivery')
  return TlsReports.open({ ...common, ...database, ...edges, log, onReport: observers?.onTlsReport })
}

function openImports({ clock, log, database }: CommonDeps, { workspaces: { ownerOf } }: Caches): ImportRunner {
  return new ImportRunner({ ...database, clock, log, ownerOf })
}

function openExports(
  { clock, log, disk, database: { read, commit, place }, observers }: CommonDeps & Pick<Services, 'disk'>,
  { workspaces: { ownerOf } }: Caches,
): ExportRunner {
  return new ExportRunner({
    ...{ read, commit, place, clock, log, ownerOf },
    ...{ hasRoom: disk.hasRoom, onEnd: observers?.onExportEnd },
  })
}

async function openCaches({ clock, database }: CommonDeps): Promise<Caches> {
  return {
    apiKeyCache: new ApiKeyCache(database, clock),
    operatorWorkspace: new OperatorWorkspaceCache(database),
    workspaces: await WorkspaceDirectory.open(database.read),
    domains: new SendingDomainCache(database.read),
    receivingDomains: new ReceivingDomainCache(database),
    forwardRules: new ForwardRuleCache(database),
    signingKeys: new SigningKeyCache(database.read),
    templates: new TemplateCache(database.read),
  }
}

interface CommonDeps extends Pick<StartOptions, 'config' | 'settings' | 'clock' | 'log' | 'logs' | 'observers'> {
  readonly edges: Edges
  readonly database: Database
  readonly identity: ServiceIdentity
}
type Caches = Pick<
  Services,
  | 'apiKeyCache'
  | 'operatorWorkspace'
  | 'workspaces'
  | 'domains'
  | 'receivingDomains'
  | 'forwardRules'
  | 'signingKeys'
  | 'templates'
>
type Engines = Pick<Services, 'signing' | 'delivery' | 'receiving' | 'policies'>
type OfEngines = Pick<Services, 'suppressions' | 'breaker' | 'webhooks' | 'mime'>

async function openEngines(
  own: CommonDeps & Caches & Pick<WorkspaceLimits, 'inboundBytes'> & OfEngines,
  stopSteps: StopSteps,
  stopTimeouts: NonNullable<DaemonOptions['stopTimeouts']>,
): Promise<Engines> {
  const signing = registerStop(stopSteps, new SigningThread())
  const tlsReports = registerStop(stopSteps, await openTlsReports(own))
  const receivers = new MailReceivers({ ...own, ...own.database, log: own.logs.of('receiving') })
  registerStop(stopSteps, receivers)
  const room = { ...own, receivers, log: own.logs.of('delivery'), owners: own.workspaces, signing, tlsReports }
  const delivery = await openDelivery(room, stopSteps, stopTimeouts.delivery)
  tlsReports.startSending(delivery.runner)
  stopSteps.push(() => tlsReports.stopSending())
  const receiving = openReceiving({ ...own, queue: delivery.runner, signing }, stopSteps)
  const policies = wireOwnPolicy(own, own.receivingDomains, stopSteps)
  return { signing, delivery, receiving, policies }
}

/** Returns the service. Its end becomes one of the stop steps. */
function registerStop<Service extends { readonly stop: () => Promise<void> }>(
  stopSteps: StopSteps,
  service: Service,
): Service {
  stopSteps.push(() => service.stop())
  return service
}
