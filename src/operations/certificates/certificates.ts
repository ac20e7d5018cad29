/**
 * Holds the certificates: what listeners serve by name, the orders at the ACME server, and the warnings before an expiry.
 *
 * They are in the database, where other daemons may change them.
 *
 * `open` reads what is stored, before any listener opens; `start` begins the work when listeners can answer challenges.
 * Without ACME there is the default certificate alone, whose expiry is watched too.
 */
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../base/config/complete.js'
import type { StartSettings } from '../../base/config/live-config.js'
import type { ListenAddress } from '../../base/config/network-values.js'
import type { DomainName } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import { defaultResolverSettings, openResolver, type Resolver } from '../../base/platform/dns/resolver.js'
import { createHttpClient, type HttpClient } from '../../base/platform/http/http-client.js'
import type { Log } from '../../base/platform/log.js'
import type { RandomSource } from '../../base/platform/random.js'
import { type ListenerTls, loadTlsFiles, readAuthorities, type TlsFiles } from '../../base/platform/tls-files.js'
import { version } from '../../base/platform/version.js'
import type { Store } from '../../base/storage/db/database.js'
import type { FollowedTable } from '../../base/storage/db/table-changes.js'
import { AccountRows } from './account-rows.js'
import { type AcmeDirectory, openAcmeDirectory } from './acme-directory.js'
import { AcmeOrders } from './acme-orders.js'
import type { CertificateView } from './certificate-list.js'
import { listMailHosts, listServiceNames } from './certificate-names.js'
import { placeOf, readPair } from './certificate-rows.js'
import { CertificateRunner } from './certificate-runner.js'
import { ChallengeAnswers } from './challenge-answers.js'
import { openChallengeListener } from './challenge-listener.js'
import { ChallengeRows } from './challenge-rows.js'
import { ExpiryWatch, type WatchDeps, type WatchedCertificate } from './expiry-watch.js'
import { checkName } from './name-check.js'
import { NameLeases } from './name-leases.js'
import { OrderLimits } from './order-limits.js'
import { readCertificateFacts } from './renewal-plan.js'
import { RenewalWindows } from './renewal-windows.js'
import { ServedCertificates } from './served-certificates.js'
import { SharedAnswers } from './shared-answers.js'

/** Bytes of an answer of an ACME server; a chain has some 6 KB. */
const MAX_ANSWER_BYTES = 256 * 1024

export type PairSettings = Pick<Config['tls'], 'cert_file' | 'key_file'>

interface CertificateDeps {
  readonly config: StartSettings
  readonly store: Store
  /** Identifies this daemon, also after a restart: see `NameLeases`. */
  readonly holder: string
  readonly clock: Clock
  readonly log: Log
}

interface OpenAcme {
  readonly served: ServedCertificates
  readonly directory: AcmeDirectory
  readonly http: HttpClient
}

interface WorkDeps {
  /** Null: the configured servers are asked. */
  readonly resolver: Resolver | null
  readonly random: RandomSource
  /** The listeners, which serve the default certificate. */
  readonly listeners: { readonly served: { readonly cert: string }; readonly useCertificate: (tls: TlsFiles) => void }
  readonly composeNotices: WatchDeps['composeNotices']
}

/** Whether a certificate is missing or to be renewed depends on these. */
const mayNeedWork: readonly FollowedTable[] = ['acme_certificates', 'acme_names', 'commands', 'domains']

export class Certificates {
  readonly answers = new ChallengeAnswers()
  /** Where challenges over plain HTTP are answered. */
  endpoints: readonly ListenAddress[] = []
  private runner: CertificateRunner | null = null
  private readonly challenges: ChallengeRows
  /** Those that listeners serve by name; without ACME the default one. */
  private listWatched: () => readonly WatchedCertificate[] = () => []
  private useDefault: (tls: TlsFiles) => void = () => undefined
  private readonly stopSteps: (() => Promise<void>)[] = []

  private constructor(
    private readonly deps: CertificateDeps,
    private readonly acme: OpenAcme | null,
    /** The default certificate at the start. */
    readonly tls: TlsFiles,
  ) {
    this.challenges = new ChallengeRows(deps.store, deps.clock)
  }

  static async open(deps: CertificateDeps, settings: PairSettings): Promise<Certificates> {
    const acme = deps.config.tls.acme.enabled ? await openAcme(deps) : null
    return new Certificates(deps, acme, await loadDefaultTls(deps, acme, settings))
  }

  /** What listeners serve from the start: the default certificate, and others by name. */
  get listenerTls(): ListenerTls {
    const { cert, key } = this.tls
    return { cert, key, SNICallback: this.acme?.served.chooseContext }
  }

  /** Whether clients that ask for this name get a valid certificate of its own. */
  servesName(name: DomainName): boolean {
    return this.acme?.served.serves(name) ?? false
  }

  /** The default certificate as it should be now: that of the ACME server, else that of these settings. */
  loadDefault(settings: PairSettings): Promise<TlsFiles> {
    return loadDefaultTls(this.deps, this.acme, settings)
  }

  async start(work: WorkDeps): Promise<void> {
    const { hostname, public_url: publicUrl } = this.deps.config.service
    this.useDefault = (tls) => work.listeners.useCertificate(tls)
    if (this.acme === null) {
      const { served } = work.listeners
      this.listWatched = () => [{ name: hostname, fault: null, ...readCertificateFacts(served.cert) }]
      this.openWatch(work).start()
      return
    }
    const runner = this.openRunner(this.acme, work)
    this.runner = runner
    this.listWatched = () => runner.listIssued()
    const watch = this.openWatch(work)
    const answers = new SharedAnswers({ own: this.answers, rows: this.challenges })
    const listener = await openChallengeListener(this.deps.config.tls.acme.http_listen, { answers, publicUrl })
    this.stopSteps.push(() => listener.stop())
    this.endpoints = listener.endpoints
    runner.start(() => watch.start())
  }

  /** Another process has changed these tables. What it changed is served when it resolves. */
  async madeElsewhere(changed: ReadonlySet<FollowedTable>): Promise<void> {
    const { hostname } = this.deps.config.service
    if (this.acme !== null && changed.has('acme_certificates')) {
      const renewed = await this.acme.served.load()
      const pair = renewed.has(hostname) ? await readHostCertificate(this.deps, this.acme) : null
      if (pair !== null) this.useDefault(pair)
    }
    if (changed.has('acme_names')) this.runner?.drop()
    // Names may have changed, or a command may have asked for a renewal.
    if (mayNeedWork.some((table) => changed.has(table))) this.runner?.wake()
  }

  /** Those from the ACME server; empty without one. */
  list(): readonly CertificateView[] {
    return this.runner?.list() ?? []
  }

  /** Those whose expiry is watched. */
  listServed(): readonly WatchedCertificate[] {
    return this.listWatched()
  }

  async stop(): Promise<void> {
    for (const step of this.stopSteps.splice(0).toReversed()) await step()
  }

  private openRunner({ served, directory, http }: OpenAcme, { resolver, random }: WorkDeps): CertificateRunner {
    const { config, clock, log, store, holder } = this.deps
    const { read } = store
    const ending = new AbortController()
    const settings = { ...defaultResolverSettings, servers: config.dns.servers, cacheSize: 0 }
    const { resolveAddresses } = resolver ?? openResolver(settings, clock, ending.signal)
    const windows = new RenewalWindows({ directory, read, clock })
    const limits = new OrderLimits()
    const nameDeps = { resolveAddresses, publicAddresses: config.service.public_addresses, readOwnAddresses }
    const leases = new NameLeases({ ...store, clock, holder })
    const accounts = new AccountRows(store)
    const { answers, challenges } = this
    const orders = new AcmeOrders({
      ...{ ...this.deps, accounts, leases, directory, windows, limits, answers, challenges },
    })
    const runner = new CertificateRunner({
      ...{ ...store, leases, served, windows, limits, clock, random, log },
      listNames: async () => ({ service: listServiceNames(config), mailHosts: await listMailHosts(read) }),
      checkName: (name) => checkName(name, nameDeps),
      order: (name, failures, signal) => orders.order(name, failures, signal),
      onIssued: (name, pair) => {
        if (name === config.service.hostname) this.useDefault({ ...pair, caFile: placeOf(name) })
      },
    })
    this.stopSteps.push(async () => {
      const stopped = runner.stop()
      ending.abort()
      await http.close()
      await stopped
    })
    return runner
  }

  private openWatch({ composeNotices }: WorkDeps): ExpiryWatch {
    const { store, clock, log } = this.deps
    const watch = new ExpiryWatch({ ...store, clock, log, list: () => this.listServed(), composeNotices })
    this.stopSteps.push(() => watch.stop())
    return watch
  }
}

async function openAcme({ config: { tls }, store, clock, log }: CertificateDeps): Promise<OpenAcme> {
  const onFault = (name: string, err: unknown): void => log.error({ name, err }, 'a certificate cannot be used')
  const served = new ServedCertificates({ read: store.read, clock, onFault })
  await served.load()
  const authorities = tls.acme.ca_file === null ? undefined : await readAuthorities(tls.acme.ca_file)
  const limits = { maxConnections: 2, maxBodyBytes: MAX_ANSWER_BYTES, maxDroppedBytes: 0 }
  const http = await createHttpClient({ ...limits, authorities })
  const userAgent = `Posthorn/${version}`
  const directory = await openAcmeDirectory({ url: tls.acme.directory, http, clock, userAgent })
  return { served, directory, http }
}

async function loadDefaultTls(
  deps: CertificateDeps,
  acme: OpenAcme | null,
  { cert_file: certFile, key_file: keyFile }: PairSettings,
): Promise<TlsFiles> {
  const { data_dir, hostname } = deps.config.service
  const issued = await readHostCertificate(deps, acme)
  const configured = certFile === null || keyFile === null ? null : { certFile, keyFile }
  return issued ?? loadTlsFiles(configured, { folder: join(data_dir, 'tls'), hostname, now: deps.clock() })
}

/** Null if there is none yet. */
async function readHostCertificate(
  { config: { service }, store: { read } }: CertificateDeps,
  acme: OpenAcme | null,
): Promise<TlsFiles | null> {
  if (acme === null || !acme.served.serves(service.hostname)) return null
  const pair = await readPair(read, service.hostname)
  return pair === null ? null : { ...pair, caFile: placeOf(service.hostname) }
}

function readOwnAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
}
