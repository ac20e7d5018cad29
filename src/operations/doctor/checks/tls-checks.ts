/** Checks the certificate that listeners serve: its names, its chain, its days, and that the daemon serves the one on disk. */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import type { Config } from '../../../base/config/complete.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { isLoopback } from '../../../base/platform/ip-address.js'
import { DAY } from '../../../base/platform/time-units.js'
import { readTlsFiles } from '../../../base/platform/tls-files.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { placeOf, readPair } from '../../certificates/certificate-rows.js'
import { ANSWER_TIMEOUT, type Check, type CheckDeps } from '../check.js'
import { failure, good, type Judgement, type Remedy, warning } from '../finding.js'

/** Days. */
const [SOON, VERY_SOON] = [21, 7]
/** Certificates of a chain. */
const MAX_CHAIN = 10

export const tlsChecks: readonly Check[] = [
  {
    name: 'tls',
    summary: 'the certificate has the right names and a complete chain, and does not expire soon',
    run: checkCertificate,
  },
  { name: 'tls-served', summary: 'the daemon serves the certificate that is on disk', run: checkServed },
]

interface CertificateDeps extends Pick<CheckDeps, 'read'> {
  readonly config: Pick<Config, 'tls' | 'service'>
}

/** The certificate that listeners serve to clients that ask for no other name. */
interface DefaultCertificate {
  /** The file, or how the place in the database is called. */
  readonly file: string
  readonly origin: 'files' | 'acme' | 'self-signed'
  /** PEM; rejects if the files cannot be used. */
  readonly read: () => Promise<string>
}

export async function findDefault({ config: { tls, service }, read }: CertificateDeps): Promise<DefaultCertificate> {
  const { cert_file: certFile, key_file: keyFile } = tls
  const readFiles = (cert: string, key: string) => async () => (await readTlsFiles(cert, key)).cert
  if (certFile !== null && keyFile !== null) {
    return { file: certFile, origin: 'files', read: readFiles(certFile, keyFile) }
  }
  const ordered = tls.acme.enabled && read !== null ? await readPair(read, service.hostname) : null
  if (ordered !== null) return { file: placeOf(service.hostname), origin: 'acme', read: async () => ordered.cert }
  const [own, key] = ['cert.pem', 'key.pem'].map((name) => join(service.data_dir, 'tls', name))
  return { file: own ?? '', origin: 'self-signed', read: readFiles(own ?? '', key ?? '') }
}

async function checkCertificate(deps: CheckDeps): Promise<readonly Judgement[]> {
  const { config, clock, authorities } = deps
  const { file, origin, read } = await findDefault(deps)
  const { service, tls } = config
  try {
    const chain = parseChain(await read())
    // If there is an ACME server, each name has a separate certificate, which the check `acme` checks.
    const names = tls.acme.enabled
      ? [service.hostname]
      : [...new Set([service.hostname, new URL(service.public_url).hostname])]
    return [
      judgeDays(file, chain, clock(), renewalOf(origin, service.hostname)),
      ...judgeNames(file, chain, names),
      origin === 'self-signed'
        ? judgeSelfSigned(file, config)
        : judgeChain(file, chain, await hasKnownRoot(chain, authorities)),
    ]
  } catch (error) {
    if (origin === 'self-signed') return [good(file, 'there is no certificate yet: the first start makes one')]
    return [failure(file, errorMessageOf(error), ['see tls.cert_file and tls.key_file', 'posthorn check'])]
  }
}

/** Judges the end of a certificate that is served now, as the check `tls` does. */
export async function judgeServedDays(
  deps: CertificateDeps & Pick<CheckDeps, 'clock'>,
  served: string,
): Promise<Judgement> {
  const { file, origin } = await findDefault(deps)
  return judgeDays(file, parseChain(served), deps.clock(), renewalOf(origin, deps.config.service.hostname))
}

const PEM_END = '-----END CERTIFICATE-----'

/** The server's certificate first. */
export function parseChain(pem: string): readonly X509Certificate[] {
  const texts = pem.split(PEM_END).slice(0, -1)
  return texts.slice(0, MAX_CHAIN).map((text) => new X509Certificate(`${text}${PEM_END}\n`))
}

function renewalOf(origin: DefaultCertificate['origin'], hostname: string): Remedy {
  const renewals: Record<DefaultCertificate['origin'], Remedy> = {
    files: ['certbot renew', 'systemctl reload posthorn'],
    acme: ['posthorn doctor acme', `posthorn certificates renew ${hostname}`],
    'self-signed': ['systemctl restart posthorn   # makes a new one'],
  }
  return renewals[origin]
}

export function judgeDays(subject: string, chain: readonly X509Certificate[], now: number, renewal: Remedy): Judgement {
  const ends = chain.map(({ validTo }) => Date.parse(validTo))
  const days = Math.floor((Math.min(...ends) - now) / DAY)
  const starts = chain.some(({ validFrom }) => Date.parse(validFrom) > now)
  if (starts) return failure(subject, 'the certificate is not valid yet: is the clock right?', ['date -u'])
  if (days < 0) return failure(subject, `the certificate expired ${-days} days ago: clients refuse it`, renewal)
  if (days < VERY_SOON) return failure(subject, `the certificate expires in ${days} days`, renewal)
  if (days < SOON) return warning(subject, `the certificate expires in ${days} days`, renewal)
  return good(subject, `the certificate is valid for ${days} days`)
}

export function judgeNames(
  subject: string,
  [leaf]: readonly X509Certificate[],
  names: readonly string[],
): readonly Judgement[] {
  const absent = names.filter((name) => leaf === undefined || !isFor(leaf, name))
  if (absent.length === 0) return [good(`${subject} names`, names.join(', '))]
  const text = `the certificate is not for ${absent.join(', ')}: clients that verify it refuse to connect`
  return [warning(`${subject} names`, text, namesRemedy(names, absent))]
}

/** `name` is a host name, or an address as URLs have it. */
function isFor(certificate: X509Certificate, name: string): boolean {
  const address = name.replace(/^\[|\]$/g, '')
  return (isIP(address) === 0 ? certificate.checkHost(name) : certificate.checkIP(address)) !== undefined
}

/** Authorities issue certificates for host names, so the host name replaces an address in `service.public_url`. */
function namesRemedy(names: readonly string[], absent: readonly string[]): Remedy {
  const isHost = (name: string): boolean => !name.startsWith('[') && isIP(name) === 0
  const hosts = names.filter(isHost)
  if (absent.some((name) => !isHost(name))) {
    return [
      '[service]',
      `public_url = "https://${hosts[0] ?? 'HOST'}"   # and the port of api.listen, unless it is 443`,
    ]
  }
  return [`certbot certonly --standalone ${hosts.map((name) => `-d ${name}`).join(' ')}`, 'systemctl reload posthorn']
}

function judgeSelfSigned(subject: string, { tls, service }: Config): Judgement {
  const text = 'the certificate is self-signed: browsers and API clients refuse it'
  if (tls.acme.enabled) {
    const remedy = renewalOf('acme', service.hostname)
    return warning(`${subject} chain`, `${text}, until the ACME server has issued the first one`, remedy)
  }
  return warning(`${subject} chain`, text, [
    '[tls.acme]   # or files of your own: tls.cert_file and tls.key_file',
    'enabled = true',
  ])
}

/**
 * Each certificate must be signed by the next. `isTrusted` says that a known authority signed the last one, or is it.
 */
export function judgeChain(subject: string, chain: readonly X509Certificate[], isTrusted: boolean): Judgement {
  const name = `${subject} chain`
  const broken = chain.findIndex((one, at) => at > 0 && !isIssuedBy(chain[at - 1], one))
  if (broken !== -1) {
    return failure(name, `certificate ${broken + 1} of the file did not sign the one before it`, [
      'tls.cert_file must have the chain: fullchain.pem, not cert.pem',
    ])
  }
  if (isTrusted) return good(name, `the chain has ${chain.length} certificates and leads to a known authority`)
  const last = chain.at(-1)
  if (chain.length === 1 && !isIssuedBy(last, last)) {
    return failure(name, 'the intermediate certificate is missing: many clients refuse the connection', [
      'tls.cert_file = the file with the chain (fullchain.pem, not cert.pem)',
    ])
  }
  return warning(
    name,
    `the certificate is issued by ${issuerOf(last)}, which is not a public authority: only clients that trust it connect`,
    [
      '# give each client the certificate of that authority, or take a certificate of a public one:',
      '[tls.acme]   # without tls.cert_file and tls.key_file',
      'enabled = true',
    ],
  )
}

/** Authorities that are read at a time. Each takes a tenth of a millisecond. */
const ROOT_STEP = 20

/** `authorities` replace those that Node.js knows. */
export async function hasKnownRoot(
  chain: readonly X509Certificate[],
  authorities: string | undefined,
): Promise<boolean> {
  const last = chain.at(-1)
  const roots = authorities === undefined ? rootCertificates : [authorities]
  for (let at = 0; at < roots.length; at += ROOT_STEP) {
    if (at > 0) await waitForStep()
    const known = roots.slice(at, at + ROOT_STEP).flatMap(parseChain)
    if (known.some((root) => isIssuedBy(last, root) || isSame(last, root))) return true
  }
  return false
}

function isIssuedBy(one: X509Certificate | undefined, issuer: X509Certificate | undefined): boolean {
  return one !== undefined && issuer !== undefined && one.checkIssued(issuer) && one.verify(issuer.publicKey)
}

function isSame(one: X509Certificate | undefined, other: X509Certificate): boolean {
  return one?.fingerprint256 === other.fingerprint256
}

function issuerOf(certificate: X509Certificate | undefined): string {
  return certificate?.issuer.replaceAll('\n', ', ') ?? ''
}

async function checkServed(deps: CheckDeps): Promise<readonly Judgement[]> {
  const { config } = deps
  const endpoint = [...config.submission.listen_tls, ...config.api.listen.filter(({ kind }) => kind === 'tls')].find(
    (one) => 'port' in one && one.port !== 0,
  )
  if (endpoint === undefined || !('port' in endpoint)) return []
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1', localhost: '127.0.0.1' }[endpoint.host] ?? endpoint.host
  const { read } = await findDefault(deps)
  const [stored, served] = await Promise.all([
    read().then(
      (cert) => parseChain(cert)[0] ?? null,
      () => null,
    ),
    readServed(deps, host, endpoint.port),
  ])
  // If there is no daemon, or no file, other checks say so.
  return stored === null || served === null ? [] : [judgeServed(`${host}:${endpoint.port}`, stored, served)]
}

async function readServed({ dialer, signal }: CheckDeps, host: string, port: number): Promise<Buffer | null> {
  try {
    const limits = { timeout: ANSWER_TIMEOUT, signal }
    const socket = await dialer.dial(host, port, limits)
    const secure = await dialer.upgrade(socket, { ...limits, host, verify: false })
    const { raw } = secure.getPeerCertificate()
    secure.destroy()
    return raw
  } catch {
    return null
  }
}

export function judgeServed(subject: string, stored: X509Certificate, served: Buffer): Judgement {
  const isLocal = isLoopback(subject.slice(0, subject.lastIndexOf(':')))
  if (stored.raw.equals(served)) return good(subject, 'the listener serves the certificate that is on disk')
  return failure(
    subject,
    isLocal
      ? 'the listener serves another certificate than the one on disk'
      : 'the server at this address has another certificate than the one on disk',
    ['systemctl reload posthorn'],
  )
}
