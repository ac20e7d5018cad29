/**
 * Wires certificates: what listeners serve by name, the orders at the ACME server, and the warnings before an expiry.
 *
 * `openCertificates` reads what is stored, before any listener opens; `startCertificates` begins the work when listeners
 * can answer challenges.
 */
import { networkInterfaces } from 'node:os'
import { AccountKeeper } from '../certificates/acme-account.js'
import { type AcmeDirectory, type ChallengeType, openAcmeDirectory } from '../certificates/acme-directory.js'
import { AcmeProblem } from '../certificates/acme-problem.js'
import { CertificateFiles } from '../certificates/certificate-files.js'
import type { CertificateView } from '../certificates/certificate-list.js'
import { listMailHosts, listServiceNames } from '../certificates/certificate-names.js'
import { CertificateRunner, type RunnerDeps } from '../certificates/certificate-runner.js'
import { ChallengeAnswers } from '../certificates/challenge-answers.js'
import { openChallengeListener } from '../certificates/challenge-listener.js'
import { ExpiryWatch, type WatchedCertificate } from '../certificates/expiry-watch.js'
import { checkName } from '../certificates/name-check.js'
import { OrderLimits } from '../certificates/order-limits.js'
import { placeOrder } from '../certificates/place-order.js'
import { readCertificateFacts } from '../certificates/renewal-plan.js'
import { RenewalWindows } from '../certificates/renewal-windows.js'
import { ServedCertificates } from '../certificates/served-certificates.js'
import type { Config } from '../config/complete.js'
import type { ListenAddress } from '../config/network-values.js'
import type { DomainName } from '../mail/address.js'
import { composeCertificateNotices } from '../notices/certificate-notice.js'
import { defaultResolverSettings, openResolver } from '../platform/dns/resolver.js'
import { createHttpClient, type HttpClient } from '../platform/http/http-client.js'
import { readAuthorities, type TlsFiles } from '../platform/tls-files.js'
import { version } from '../platform/version.js'
import type { Database } from '../storage/database.js'
import type { DaemonOptions, StopSteps } from './daemon-options.js'
import type { Delivery } from './delivery.js'
import { systemEdges } from './edges.js'

/** Bytes of an answer of an ACME server; a chain has some 6 KB. */
const MAX_ANSWER_BYTES = 256 * 1024
const HTTPS_PORT = 443

export interface Certificates {
  /** Null: ACME is off. */
  readonly served: ServedCertificates | null
  readonly answers: ChallengeAnswers
  /** The certificate of the host name, once there is one: the default of all listeners. */
  readonly readDefault: () => Promise<TlsFiles | null>
  readonly files: CertificateFiles
  readonly directory: { readonly acme: AcmeDirectory; readonly http: HttpClient } | null
}

export async function openCertificates({ config, clock, log }: DaemonOptions): Promise<Certificates> {
  const { service, tls } = config
  const files = new CertificateFiles(service.data_dir)
  const answers = new ChallengeAnswers()
  if (!tls.acme.enabled) return { served: null, answers, files, directory: null, readDefault: async () => null }
  const onFault = (name: string, err: unknown): void => log.error({ name, err }, 'a certificate cannot be used')
  const served = new ServedCertificates({ files, clock, onFault })
  await served.load()
  const authorities = tls.acme.ca_file === null ? undefined : await readAuthorities(tls.acme.ca_file)
  const http = await createHttpClient({
    maxConnections: 2,
    maxBodyBytes: MAX_ANSWER_BYTES,
    maxDroppedBytes: 0,
    authorities,
  })
  const acme = await openAcmeDirectory({ url: tls.acme.directory, http, clock, userAgent: `Posthorn/${version}` })
  return {
    ...{ served, answers, files },
    directory: { acme, http },
    readDefault: () => readHostCertificate(service.hostname, { files, served }),
  }
}

async function readHostCertificate(
  hostname: DomainName,
  { files, served }: { readonly files: CertificateFiles; readonly served: ServedCertificates },
): Promise<TlsFiles | null> {
  const pair = served.serves(hostname) ? await files.readPair(hostname) : null
  return pair === null ? null : { ...pair, caFile: files.pathOf(hostname) }
}

interface CertificateDeps extends Pick<DaemonOptions, 'config' | 'clock' | 'log' | 'edges'> {
  readonly database: Database
  readonly delivery: Delivery
  readonly certificates: Certificates
  /** The default certificate of the listeners. */
  readonly served: Pick<TlsFiles, 'cert'>
  /** Each listener serves this certificate to clients that name no other. */
  readonly useDefault: (tls: TlsFiles) => void
}

export interface CertificateWork {
  /** Where challenges over plain HTTP are answered. */
  readonly endpoints: readonly ListenAddress[]
  readonly wake: () => void
  /** Without ACME: empty. */
  readonly list: () => readonly CertificateView[]
}

export async function startCertificates(deps: CertificateDeps, stopSteps: StopSteps): Promise<CertificateWork> {
  const { config, certificates } = deps
  const { acme } = config.tls
  const runner = certificates.served === null ? null : createRunner(deps, certificates.served, stopSteps)
  if (runner === null) {
    // Whoever made it.
    const list = () => [{ name: config.service.hostname, fault: null, ...readCertificateFacts(deps.served.cert) }]
    createExpiryWatch(deps, list, stopSteps).start()
    return { endpoints: [], wake: () => undefined, list: () => [] }
  }
  const watch = createExpiryWatch(deps, () => runner.listIssued(), stopSteps)
  const listenerDeps = { answers: certificates.answers, publicUrl: config.service.public_url }
  const listener = await openChallengeListener(acme.http_listen, listenerDeps)
  stopSteps.push(() => listener.stop())
  runner.start(() => watch.start())
  return { endpoints: listener.endpoints, wake: () => runner.wake(), list: () => runner.list() }
}

function createRunner(deps: CertificateDeps, served: ServedCertificates, stopSteps: StopSteps): CertificateRunner {
  const { config, clock, log, edges, database, certificates, useDefault } = deps
  const { files, directory } = certificates
  if (directory === null) throw new Error('the ACME directory is not open')
  const ending = new AbortController()
  const { resolver, random } = { ...systemEdges(), ...edges }
  const settings = { ...defaultResolverSettings, servers: config.dns.servers, cacheSize: 0 }
  const { resolveAddresses } = resolver ?? openResolver(settings, clock, ending.signal)
  const windows = new RenewalWindows({ directory: directory.acme, files, clock })
  const limits = new OrderLimits()
  const nameDeps = { resolveAddresses, publicAddresses: config.service.public_addresses, readOwnAddresses }
  const runner = new CertificateRunner({
    ...{ files, served, windows, limits, clock, random, log },
    listNames: async () => ({ service: listServiceNames(config), mailHosts: await listMailHosts(database.read) }),
    checkName: (name) => checkName(name, nameDeps),
    order: createOrdering(deps, directory.acme, { windows, limits }),
    onIssued: (name, pair) => {
      if (name === config.service.hostname) useDefault({ ...pair, caFile: files.pathOf(name) })
    },
  })
  stopSteps.push(async () => {
    const stopped = runner.stop()
    ending.abort()
    await directory.http.close()
    await stopped
  })
  return runner
}

function createOrdering(
  { config, clock, log, certificates: { files, answers } }: CertificateDeps,
  directory: AcmeDirectory,
  { windows, limits }: Pick<RunnerDeps, 'windows' | 'limits'>,
): RunnerDeps['order'] {
  const { directory: directoryUrl, email } = config.tls.acme
  const accounts = new AccountKeeper({ directory, directoryUrl, email, files, clock })
  const types = listChallengeTypes(config)
  const order: RunnerDeps['order'] = async (name, failures, signal) => {
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
function listChallengeTypes({ tls: { acme }, api }: Config): readonly ChallengeType[] {
  const servesHttp = acme.http_listen.length > 0
  const servesAlpn = api.listen.some(
    (address) => address.kind === 'tls' && (!servesHttp || address.port === HTTPS_PORT),
  )
  return [...(servesHttp ? (['http-01'] as const) : []), ...(servesAlpn ? (['tls-alpn-01'] as const) : [])]
}

function readOwnAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
}

function createExpiryWatch(
  { config, clock, log, database, delivery }: CertificateDeps,
  list: () => readonly WatchedCertificate[],
  stopSteps: StopSteps,
): ExpiryWatch {
  const { hostname, mail_from: mailFrom } = config.service
  const { read, commit } = database
  const watch = new ExpiryWatch({
    ...{ read, commit, clock, log, list },
    composeNotices: (workspaceId, warning, now) => {
      const notices = composeCertificateNotices({ read, hostname, mailFrom }, workspaceId, warning, now)
      return {
        writes: notices.flatMap(({ enqueued }) => enqueued.writes),
        onCommitted: () => {
          for (const { enqueued, raw } of notices) delivery.runner.offer(enqueued, raw)
        },
      }
    },
  })
  stopSteps.push(() => watch.stop())
  return watch
}
