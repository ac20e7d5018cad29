/**
 * Decides from which source address a message is sent to each host of its destination, before the first host is called.
 *
 * A host is left out if the pool has no free address of the host's family. If no host is left because the addresses
 * have sent as much as they may today, the message takes the route for such mail, or waits if there is none.
 */
import type { Config } from '../../../base/config/complete.js'
import { followSetting } from '../../../base/config/follow-setting.js'
import { domainOf } from '../../../base/mail/address.js'
import { providerGroupOfHost } from '../../../base/mail/mailbox-providers.js'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import type { Destination, Host } from '../hosts/destination.js'
import type { Outage } from '../shaping/unreachable-hosts.js'
import type { SendResult } from '../smtp/send-result.js'
import { type ChosenSources, chooseSources, familiesOf, seedOf } from '../sources/choose-source.js'
import type { MissingSources } from '../sources/missing-sources.js'
import type { NewDomains } from '../sources/new-domains.js'
import { compilePools, familyOf, type Source, type SourcePool, type SourcePools } from '../sources/source-pools.js'
import { warmUpResultOf } from '../sources/warm-up-result.js'
import type { WarmUpKey } from '../sources/warm-up-store.js'
import type { WarmUpClaim, WarmUps } from '../sources/warm-ups.js'
import type { DestinationFinder } from './destination-finder.js'

const senderOfEmail = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select('from_email')
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export interface SourceAssignment {
  readonly destination: Destination
  /** Not null if the message may not be sent yet. */
  readonly wait: Outage | null
  /** True if other entries of the lane may leave from another address. */
  readonly isOfEntry: boolean
  /** Counts the result of the call of a host. */
  readonly count: (host: Host, sent: SendResult) => void
  /** Call this when the attempt has ended, or is not made. */
  readonly release: () => void
}

type SourceSettings = Pick<
  Config['outbound'],
  'source_addresses' | 'sources' | 'pool_rules' | 'domain_warm_up' | 'warm_up_route' | 'routes'
>

interface AssignDeps {
  readonly read: Read
  readonly settings: () => SourceSettings
  readonly warmUps: Pick<WarmUps, 'prepare' | 'findWait' | 'claim' | 'drop' | 'stop'>
  readonly missing: Pick<MissingSources, 'has' | 'add'>
  readonly newDomains: Pick<NewDomains, 'has' | 'drop'>
  readonly destinations: Pick<DestinationFinder, 'findByRoute'>
}

export class SourceAssigner {
  /** Returns the pools, or null if no source address is configured. A reload replaces all settings at once. */
  private readonly pools: () => SourcePools | null

  constructor(private readonly deps: AssignDeps) {
    const { settings } = deps
    this.pools = followSetting(
      () => settings().sources,
      () => compilePools(settings()),
    )
  }

  async assign(entry: QueueEntry, found: Destination): Promise<SourceAssignment> {
    const { deps } = this
    const pools = this.pools()
    const { domain_warm_up: warmsDomains } = deps.settings()
    if (found.kind !== 'hosts' || (pools === null && !warmsDomains)) return assign(found)
    const needsDomain = warmsDomains || (pools?.dependsOnDomain ?? false)
    const domain = needsDomain ? await readSenderDomain(deps.read, entry) : null
    const pool = pools?.find(entry, domain) ?? null
    const keys = await warmUpKeysOf(deps, entry, found.hosts, warmsDomains ? domain : null)
    // From here to the claim nothing waits, so no other attempt takes what is free.
    if (keys !== null) await deps.warmUps.prepare(listKeys(keys, pool))
    const choice = chooseHosts(deps, entry, pool, found.hosts, keys)
    if (choice.kind === 'hosts') {
      const isOfEntry = pools !== null && (pools.dependsOnDomain || choice.hasOthers)
      return { ...(await claimFor(deps, choice, keys)), isOfEntry }
    }
    if (choice.kind === 'none') return assign({ kind: 'temporary', reason: 'local-error', response: choice.response })
    const overflow = await findOverflow(deps)
    if (overflow !== null) return assign(sendBeyond(deps, entry, pool, overflow))
    const isOfEntry = choice.isOfDomain || (pools?.dependsOnDomain ?? false)
    return { ...assign(found), isOfEntry, wait: isOfEntry ? { ...choice.wait, isOfEntry } : choice.wait }
  }

  /** Leaves the address out from now on, because this machine does not have it. */
  noteMissing(address: string): void {
    this.deps.missing.add(address)
  }

  /** Call this after a commit of another process. */
  drop(): void {
    this.deps.warmUps.drop()
    this.deps.newDomains.drop()
  }

  /** Call this when no attempt is under way. */
  stop(): Promise<void> {
    return this.deps.warmUps.stop()
  }
}

/** Finds where mail beyond a cap goes. Resolves to null if it must wait. */
async function findOverflow({ settings, destinations }: AssignDeps): Promise<Destination | null> {
  const { warm_up_route, routes } = settings()
  const route = warm_up_route ?? routes['*'] ?? null
  return route === null ? null : await destinations.findByRoute({ route, final: false })
}

function assign(destination: Destination): SourceAssignment {
  return { destination, wait: null, isOfEntry: false, count: () => undefined, release: () => undefined }
}

/** The keys under which a message is counted. */
interface WarmUpKeys {
  readonly provider: string
  /** Null if the sender's domain is not new. */
  readonly domain: WarmUpKey | null
}

async function warmUpKeysOf(
  { newDomains }: AssignDeps,
  { workspace_id: workspaceId }: QueueEntry,
  [host]: readonly Host[],
  domain: string | null,
): Promise<WarmUpKeys | null> {
  if (host?.final !== true) return null
  const provider = providerGroupOfHost(host.mx)
  const isNew = workspaceId !== SERVICE_WORKSPACE && domain !== null && (await newDomains.has(workspaceId, domain))
  return { provider, domain: isNew ? { workspaceId, subject: domain, provider } : null }
}

function listKeys(keys: WarmUpKeys, pool: SourcePool | null): readonly WarmUpKey[] {
  const warming = pool?.sources.filter(({ isWarming }) => isWarming) ?? []
  return [...warming.map((source) => keyOfSource(source, keys)), ...(keys.domain === null ? [] : [keys.domain])]
}

function keyOfSource({ address }: Source, { provider }: WarmUpKeys): WarmUpKey {
  return { workspaceId: SERVICE_WORKSPACE, subject: address, provider }
}

type HostChoice =
  | {
      readonly kind: 'hosts'
      readonly hosts: readonly Host[]
      readonly sources: readonly Source[]
      /** True if the pool has other addresses than these. */
      readonly hasOthers: boolean
    }
  | { readonly kind: 'full'; readonly wait: Outage; readonly isOfDomain: boolean }
  | { readonly kind: 'none'; readonly response: string }

function chooseHosts(
  { warmUps, missing }: AssignDeps,
  entry: QueueEntry,
  pool: SourcePool | null,
  hosts: readonly Host[],
  keys: WarmUpKeys | null,
): HostChoice {
  const domainWait = keys?.domain == null ? null : warmUps.findWait(keys.domain)
  if (domainWait !== null) return { kind: 'full', wait: domainWait, isOfDomain: true }
  if (pool === null) return { kind: 'hosts', hosts, sources: [], hasOthers: false }
  const findWait = (source: Source): Outage | null =>
    keys === null || !source.isWarming ? null : warmUps.findWait(keyOfSource(source, keys))
  const chosen = chooseSources(pool, familiesOf(hosts), seedOf(entry.id), (source) => {
    if (missing.has(source.address)) return 'missing'
    return findWait(source) === null ? 'free' : 'full'
  })
  const sent = fromSources(hosts, chosen)
  if (sent.length > 0) {
    const sources = Object.values(chosen.sources)
    const hasOthers = pool.sources.some((source) => !sources.includes(source))
    return { kind: 'hosts', hosts: sent, sources, hasOthers }
  }
  const [full] = chosen.full
  const wait = full === undefined ? null : findWait(full)
  if (wait !== null) return { kind: 'full', wait, isOfDomain: false }
  if (pool.isLenient && chosen.missing.length === 0) return { kind: 'hosts', hosts, sources: [], hasOthers: false }
  return { kind: 'none', response: describeNone(pool, chosen) }
}

function fromSources(hosts: readonly Host[], { sources }: ChosenSources): readonly Host[] {
  return hosts.flatMap((host) => {
    const source = sources[familyOf(host.address)]
    if (source === undefined) return []
    const { address, hello } = source
    return [{ ...host, source: address, ...(hello === null ? {} : { hello }) }]
  })
}

function describeNone({ name }: SourcePool, { missing }: ChosenSources): string {
  const [source] = missing
  if (source !== undefined)
    return `this machine does not have the source address ${source.address} of the pool "${name}"`
  return `no source address of the pool "${name}" has the address family of the hosts`
}

/** Sends by the hosts of the overflow. Their reputation is not ours, so nothing is counted. */
function sendBeyond(deps: AssignDeps, entry: QueueEntry, pool: SourcePool | null, overflow: Destination): Destination {
  if (overflow.kind !== 'hosts') return overflow
  const choice = chooseHosts(deps, entry, pool, overflow.hosts, null)
  if (choice.kind === 'hosts') return { kind: 'hosts', hosts: choice.hosts }
  const response = choice.kind === 'none' ? choice.response : choice.wait.why
  return { kind: 'temporary', reason: 'local-error', response }
}

async function claimFor(
  { warmUps }: AssignDeps,
  { hosts, sources }: Extract<HostChoice, { kind: 'hosts' }>,
  keys: WarmUpKeys | null,
): Promise<SourceAssignment> {
  const destination: Destination = { kind: 'hosts', hosts }
  if (keys === null) return assign(destination)
  const bySource = new Map<string, WarmUpClaim>()
  for (const source of sources) {
    const claim = source.isWarming ? warmUps.claim(keyOfSource(source, keys)) : null
    if (claim !== null) bySource.set(source.address, claim)
  }
  const ofDomain = keys.domain === null ? null : warmUps.claim(keys.domain)
  const claims = [...bySource.values(), ...(ofDomain === null ? [] : [ofDomain])]
  if (claims.length === 0) return assign(destination)
  const release = (): void => {
    for (const claim of claims) claim.release()
  }
  await Promise.all(claims.map(({ isReserved }) => isReserved)).catch((error: unknown) => {
    release()
    throw error
  })
  const count = (host: Host, sent: SendResult): void => {
    const result = warmUpResultOf(sent)
    bySource.get(host.source ?? '')?.count(result)
    ofDomain?.count(result)
  }
  return { ...assign(destination), count, release }
}

/** Reads the domain of the sender of an entry's message. Returns null if the message is gone. */
async function readSenderDomain(
  read: Read,
  { email_id: id, workspace_id: workspaceId }: Pick<QueueEntry, 'email_id' | 'workspace_id'>,
): Promise<string | null> {
  const [email] = await senderOfEmail(read, { id, workspaceId })
  return email === undefined ? null : domainOf(email.from_email)
}
