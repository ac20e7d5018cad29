/**
 * Wires certificates: what listeners serve by name, the orders at the ACME server, and the warnings before an expiry.
 *
 * `openCertificates` reads what is stored, before any listener opens; `startCertificates` begins the work when listeners
 * can answer challenges.
 */
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../base/config/complete.js'
import type { StartSettings } from '../../base/config/live-config.js'
import type { ListenAddress } from '../../base/config/network-values.js'
import type { DomainName } from '../../base/mail/address.js'
import { defaultResolverSettings, openResolver } from '../../base/platform/dns/resolver.js'
import { createHttpClient, type HttpClient } from '../../base/platform/http/http-client.js'
import { type ListenerTls, loadTlsFiles, readAuthorities, type TlsFiles } from '../../base/platform/tls-files.js'
import { version } from '../../base/platform/version.js'
import type { Database } from '../../base/storage/db/database.js'
import type { Delivery } from '../../outbound/delivery/delivery.js'
import { AccountKeeper } from '../certificates/acme-account.js'
import { type AcmeDirectory, type ChallengeType, openAcmeDirectory } from '../certificates/acme-directory.js'
import { AcmeProblem } from '../certificates/acme-problem.js'
import { CertificateFiles } from '../certificates/certificate-files.js'
import type { CertificateView } from '../certificates/certificate-list.js'
import { listMailHosts, listServiceNames } from '../certificates/certificate-names.js'
import { CertificateRunner, type CertificateRunnerDeps } from '../certificates/certificate-runner.js'
import { ChallengeAnswers } from '../certificates/challenge-answers.js'
import { openChallengeListener } from '../certificates/challenge-listener.js'
import { ExpiryWatch, type WatchedCertificate } from '../certificates/expiry-watch.js'
import { checkName } from '../certificates/name-check.js'
import { OrderLimits } from '../certificates/order-limits.js'
import { placeOrder } from '../certificates/place-order.js'
import { readCertificateFacts } from '../certificates/renewal-plan.js'
import { RenewalWindows } from '../certificates/renewal-windows.js'
import { ServedCertificates } from '../certificates/served-certificates.js'
import { type CertificateOrigin, composeCertificateNotices } from '../notices/certificate-notice.js'
import type { DaemonOptions, StartOptions, StopSteps } from './daemon-options.js'
import { systemEdges } from './edges.js'

/** Bytes of an answer of an ACME server; a chain has some 6 KB. */
const MAX_ANSWER_BYTES = 256 * 1024
const HTTPS_PORT = 443

export type PairSettings = Pick<Config['tls'], 'cert_file' | 'key_file'>

export interface Certificates {
  /** What listeners serve from the start: the default certificate, and others by name. */
  readonly listenerTls: ListenerTls
  /** The default certificate. */
  readonly tls: TlsFiles
  readonly answers: ChallengeAnswers
  /** Whether clients that ask for this name get a valid certificate of its own. */
  readonly servesName: (name: DomainName) => boolean
  /** The default certificate as it should be now: of the ACME server, else of these settings. */
  readonly loadDefault: (settings: PairSettings) => Promise<TlsFiles>
  /** Null: ACME is off. */
  readonly acme: OpenAcme | null
}

interface OpenAcme {
  readonly files: CertificateFiles
  readonly served: ServedCertificates
  readonly directory: AcmeDirectory
  readonly http: HttpClient
}

export async function openCertificates(options: DaemonOptions): Promise<Certificates> {
  const { service, tls } = options.config
  const acme = tls.acme.enabled ? await openAcme(options) : null
  const loadDefault = async (settings: PairSettings): Promise<TlsFiles> =>
    (await readHostCertificate(service.hostname, acme)) ?? loadConfiguredTls(service, settings, options.clock())
  const files = await loadDefault(tls)
  return {
    tls: files,
    listenerTls: { cert: files.cert, key: files.key, SNICallback: acme?.served.chooseContext },
    answers: new ChallengeAnswers(),
    servesName: (name) => acme?.served.serves(name) ?? false,
    loadDefault,
    acme,
  }
}

async function openAcme({ config: { service, tls }, clock, log }: DaemonOptions): Promise<OpenAcme> {
  const files = new CertificateFiles(service.data_dir)
  const onFault = (name: string, err: unknown): void => log.error({ name, err }, 'a certificate cannot be used')
  const served = new ServedCertificates({ files, clock, onFault })
  await served.load()
  const authorities = tls.acme.ca_file === null ? undefined : await readAuthorities(tls.acme.ca_file)
  const limits = { maxConnections: 2, maxBodyBytes: MAX_ANSWER_BYTES, maxDroppedBytes: 0 }
  const http = await createHttpClient({ ...limits, authorities })
  const userAgent = `Posthorn/${version}`
  const directory = await openAcmeDirectory({ url: tls.acme.directory, http, clock, userAgent })
  return { files, served, directory, http }
}

/** Null: there is none yet. */
async function readHostCertificate(hostname: DomainName, acme: OpenAcme | null): Promise<TlsFiles | null> {
  if (acme === null || !acme.served.serves(hostname)) return null
  const pair = await acme.files.readPair(hostname)
  return pair === null ? null : { ...pair, caFile: acme.files.pathOf(hostname) }
}

function loadConfiguredTls(
  { data_dir, hostname }: Config['service'],
  { cert_file: certFile, key_file: keyFile }: PairSettings,
  now: number,
): Promise<TlsFiles> {
  const configured = certFile === null || keyFile === null ? null : { certFile, keyFile }
  return loadTlsFiles(configured, { folder: join(data_dir, 'tls'), hostname, now })
}

interface CertificateDeps extends Pick<StartOptions, 'config' | 'settings' | 'clock' | 'log' | 'edges'> {
  readonly database: Database
  readonly services: { readonly delivery: Delivery }
  readonly certificates: Certificates
  readonly listeners: {
    /** The default certificate. */
    readonly served: Pick<TlsFiles, 'cert'>
    readonly useCertificate: (tls: TlsFiles) => void
  }
}

interface CertificateWork {
  /** Where challenges over plain HTTP are answered. */
  readonly endpoints: readonly ListenAddress[]
  readonly wake: () => void
  /** Without ACME: empty. */
  readonly list: () => readonly CertificateView[]
  /** Those that listeners serve by name; without ACME the default one. */
  readonly listServed: () => readonly WatchedCertificate[]
}

export async function startCertificates(deps: CertificateDeps, stopSteps: StopSteps): Promise<CertificateWork> {
  const { config, certificates, listeners } = deps
  const { service, tls } = config
  const runner = certificates.acme === null ? null : createRunner(deps, certificates.acme, stopSteps)
  if (runner === null) {
    const list = () => [{ name: service.hostname, fault: null, ...readCertificateFacts(listeners.served.cert) }]
    createExpiryWatch(deps, list, stopSteps).start()
    return { endpoints: [], wake: () => undefined, list: () => [], listServed: list }
  }
  const listServed = () => runner.listIssued()
  const watch = createExpiryWatch(deps, listServed, stopSteps)
  const listenerDeps = { answers: certificates.answers, publicUrl: service.public_url }
  const listener = await openChallengeListener(tls.acme.http_listen, listenerDeps)
  stopSteps.push(() => listener.stop())
  runner.start(() => watch.start())
  return { endpoints: listener.endpoints, wake: () => runner.wake(), list: () => runner.list(), listServed }
}

function createRunner(deps: CertificateDeps, acme: OpenAcme, stopSteps: StopSteps): CertificateRunner {
  const { config, clock, log, edges, database, listeners } = deps
  const { files, served, directory, http } = acme
  const ending = new AbortController()
  const { resolver, random } = { ...systemEdges(), ...edges }
  const settings = { ...defaultResolverSettings, servers: config.dns.servers, cacheSize: 0 }
  const { resolveAddresses } = resolver ?? openResolver(settings, clock, ending.signal)
  const windows = new RenewalWindows({ directory, files, clock })
  const limits = new OrderLimits()
  const nameDeps = { resolveAddresses, publicAddresses: config.service.public_addresses, readOwnAddresses }
  const runner = new CertificateRunner({
    ...{ files, served, windows, limits, clock, random, log },
    listNames: async () => ({ service: listServiceNames(config), mailHosts: await listMailHosts(database.read) }),
    checkName: (name) => checkName(name, nameDeps),
    order: createOrdering(deps, acme, { windows, limits }),
    onIssued: (name, pair) => {
      if (name === config.service.hostname) listeners.useCertificate({ ...pair, caFile: files.pathOf(name) })
    },
  })
  stopSteps.push(async () => {
    const stopped = runner.stop()
    ending.abort()
    await http.close()
    await stopped
  })
  return runner
}

function createOrdering(
  { config, clock, log, certificates: { answers } }: CertificateDeps,
  { files, directory }: OpenAcme,
  { windows, limits }: Pick<CertificateRunnerDeps, 'windows' | 'limits'>,
): CertificateRunnerDeps['order'] {
  const { directory: directoryUrl, email } = config.tls.acme
  const accounts = new AccountKeeper({ directory, directoryUrl, email, files, clock })
  const types = listChallengeTypes(config)
  const order: CertificateRunnerDeps['order'] = async (name, failures, signal) => {
    const { key, url } = await accounts.use()
    return placeOrder(
      {
        ...{ files, answers, signal },
        account: directory.useAccount(key, url),
        accountUrl: url,
        type: types[failures % types.length] ?? 'http-01',
        replaces: windows.replacedId(name),
        onCreated: () => limits.recordOrder(name, clock()),
      },
      name,
    )
  }
  return async (name, failures, signal) => {
    try {
      return await order(name, failures, signal)
    } catch (error) {
      if (!(error instanceof AcmeProblem) || error.subject !== 'account' || !(await accounts.replace(error)))
        throw error
      log.warn({ reason: error.message }, 'the ACME account was not accepted and is replaced')
      return order(name, failures, signal)
    }
  }
}

/** In the order of the tries: the second is for a name with which the first failed. */
function listChallengeTypes({ tls: { acme }, api }: StartSettings): readonly ChallengeType[] {
  const servesHttp = acme.http_listen.length > 0
  const servesAlpn = api.listen.some(
    (address) => address.kind === 'tls' && (!servesHttp || address.port === HTTPS_PORT),
  )
  return [...(servesHttp ? (['http-01'] as const) : []), ...(servesAlpn ? (['tls-alpn-01'] as const) : [])]
}

function readOwnAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
}

/** Read for each notice: a reload may name other files. */
function originOf({ tls }: Pick<Config, 'tls'>): CertificateOrigin {
  if (tls.acme.enabled) return 'acme'
  return tls.cert_file === null ? 'self-signed' : 'files'
}

function createExpiryWatch(
  { config, settings, clock, log, database, services }: CertificateDeps,
  list: () => readonly WatchedCertificate[],
  stopSteps: StopSteps,
): ExpiryWatch {
  const { hostname, mail_from: mailFrom } = config.service
  const { read, commit } = database
  const watch = new ExpiryWatch({
    ...{ read, commit, clock, log, list },
    composeNotices: (workspaceId, warnings, now) => {
      const notices = composeCertificateNotices(
        { read, hostname, mailFrom, origin: originOf(settings()) },
        workspaceId,
        warnings,
        now,
      )
      return {
        writes: notices.flatMap(({ enqueued }) => enqueued.writes),
        onCommitted: () => {
          for (const { enqueued } of notices) services.delivery.runner.offer(enqueued)
        },
      }
    },
  })
  stopSteps.push(() => watch.stop())
  return watch
}
