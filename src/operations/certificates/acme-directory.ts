/**
 * An ACME server (RFC 8555), by acme-client: the only file that knows this library.
 *
 * The library's requests go through our HTTP client: verified TLS with our authorities, no proxy of the environment, no
 * redirects, a limit on size and time, and no hidden repetitions. A refused request rejects with an AcmeProblem, a
 * server that does not answer with an HttpFault. The library has one adapter in a process, so each call carries the
 * directory that it is for.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Order as AcmeOrder, Authorization } from 'acme-client'
import { formatForDisplay } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import type { HttpAnswer, HttpClient, HttpMethod } from '../../base/platform/http/http-client.js'
import { isRecord, ownValueOf } from '../../base/platform/records.js'
import { AcmeProblem, readRequestProblem, readValidationProblem } from './acme-problem.js'
import type { RenewalWindow } from './renewal-plan.js'

export type ChallengeType = 'http-01' | 'tls-alpn-01'

export interface Order {
  readonly url: string
  readonly status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
}

export interface Challenge {
  readonly token: string
  /** The text of the answer to http-01. */
  readonly keyAuthorization: string
  /** Makes the certificate that answers tls-alpn-01. */
  readonly createCertificate: (key: string) => Promise<string>
  /** Has the server validate. */
  readonly begin: () => Promise<void>
}

export interface AcmeAccount {
  /** Throws an AcmeProblem `alreadyReplaced` if the certificate `replaces` (its RFC 9773 id) was replaced before. */
  readonly createOrder: (name: string, replaces: string | null) => Promise<Order>
  readonly readOrder: (url: string) => Promise<Order>
  /** Reads the authorizations that are pending. Throws if one is invalid, or does not offer the type. */
  readonly readChallenges: (order: Order, type: ChallengeType) => Promise<readonly Challenge[]>
  /** The problem of an order that is invalid. */
  readonly readOrderProblem: (order: Order) => Promise<AcmeProblem>
  readonly finalize: (order: Order, name: string, key: string) => Promise<void>
  /** The chain, PEM. */
  readonly readCertificate: (order: Order) => Promise<string>
}

export interface AcmeDirectory {
  /** Agrees to the terms of service. Resolves to the URL of the account, which may have existed. */
  readonly createAccount: (key: string, email: string | null) => Promise<string>
  readonly useAccount: (key: string, url: string) => AcmeAccount
  /** Null if the server has no opinion. `id` is that of RFC 9773 section 4.1. */
  readonly readRenewalWindow: (id: string) => Promise<RenewalWindow | null>
}

interface DirectoryDeps {
  readonly url: URL
  readonly http: Pick<HttpClient, 'send'>
  readonly clock: Clock
  readonly userAgent: string
}

/** Milliseconds for one request. */
const REQUEST_TIMEOUT = 30_000

type Library = typeof import('acme-client')
type LibraryClient = InstanceType<Library['Client']>
type Adapter = Extract<Library['axios']['defaults']['adapter'], (config: never) => unknown>

/** Loads the library, which takes a tenth of a second. Call it before listeners are open. */
export async function openAcmeDirectory(deps: DirectoryDeps): Promise<AcmeDirectory> {
  const library = await import('acme-client')
  library.axios.defaults.adapter = sendRequest
  const callWithin: CallWithin = (work) => currentDirectory.run(deps, work)
  const open = (accountKey: string, accountUrl?: string): LibraryClient =>
    new library.Client({
      directoryUrl: deps.url.href,
      accountKey,
      ...(accountUrl === undefined ? {} : { accountUrl }),
    })
  return {
    createAccount: (key, email) =>
      callWithin(async () => {
        const client = open(key)
        const contact = email === null ? [] : [`mailto:${email}`]
        await client.createAccount({ termsOfServiceAgreed: true, contact })
        return client.getAccountUrl()
      }),
    useAccount: (key, url) => useAccount(library, open(key, url), callWithin),
    readRenewalWindow: (id) => readRenewalWindow(deps, id),
  }
}

/** The directory that a call of the library is for. */
const currentDirectory = new AsyncLocalStorage<DirectoryDeps>()

type CallWithin = <T>(work: () => Promise<T>) => Promise<T>

function useAccount(library: Library, client: LibraryClient, callWithin: CallWithin): AcmeAccount {
  // The library reads the URL alone, and answers with the complete order.
  const unread = { status: 'pending', finalize: '' } as const
  const readFull = ({ url }: Pick<Order, 'url'>): Promise<AcmeOrder> =>
    client.getOrder({ ...unread, identifiers: [], authorizations: [], url })
  return {
    createOrder: (name, replaces) => {
      const order = { identifiers: [{ type: 'dns', value: name }], ...(replaces === null ? {} : { replaces }) }
      return callWithin(() => client.createOrder(order))
    },
    readOrder: (url) => callWithin(() => readFull({ url })),
    readChallenges: (order, type) =>
      callWithin(async () => {
        const authorizations = await client.getAuthorizations(await readFull(order))
        const pending = authorizations.filter(({ status }) => status !== 'valid')
        const open = pending.map((authorization) => toChallenge(library, client, authorization, type))
        return (await Promise.all(open)).map((challenge) => ({
          ...challenge,
          begin: () => callWithin(challenge.begin),
        }))
      }),
    readOrderProblem: (order) =>
      callWithin(async () => {
        const full = await readFull(order)
        const authorizations = await client.getAuthorizations(full)
        return authorizations.map(findFault).find((fault) => fault !== null) ?? readValidationProblem(full.error)
      }),
    finalize: (order, name, key) =>
      callWithin(async () => {
        const [, request] = await library.crypto.createCsr({ altNames: [name] }, key)
        await client.finalizeOrder(await readFull(order), request)
      }),
    readCertificate: (order) => callWithin(async () => client.getCertificate(await readFull(order))),
  }
}

async function toChallenge(
  { crypto }: Library,
  client: LibraryClient,
  authorization: Authorization,
  type: ChallengeType,
): Promise<Challenge> {
  const fault = findFault(authorization)
  if (fault !== null) throw fault
  const found = authorization.challenges.find((offered: { readonly type: string }) => offered.type === type)
  if (found === undefined) throw new AcmeProblem('', `the server offers no challenge of type ${type}`, 'name')
  const keyAuthorization = await client.getChallengeKeyAuthorization(found)
  return {
    token: found.token,
    keyAuthorization,
    createCertificate: async (key) => {
      const [, certificate] = await crypto.createAlpnCertificate(authorization, keyAuthorization, key)
      return certificate.toString()
    },
    begin: async () => void (await client.completeChallenge(found)),
  }
}

/** Null if the authorization is valid or may still become valid. */
function findFault({ status, challenges }: Authorization): AcmeProblem | null {
  if (status === 'pending' || status === 'valid') return null
  const failed = challenges.find(({ error }) => error !== undefined)
  return failed === undefined
    ? new AcmeProblem('', `the authorization is ${formatForDisplay(status)}`, 'name')
    : readValidationProblem(failed.error)
}

const methods: readonly HttpMethod[] = ['GET', 'HEAD', 'POST']

async function sendRequest(config: Parameters<Adapter>[0]): ReturnType<Adapter> {
  const directory = currentDirectory.getStore()
  if (directory === undefined) throw new Error('a request outside of a call for a directory')
  const { http, clock, userAgent } = directory
  const method = methods.find((one) => one === config.method?.toUpperCase()) ?? 'GET'
  const body: unknown = config.data
  const answer = await http.send(method, {
    url: parseServerUrl(config.url ?? ''),
    headers: { 'user-agent': userAgent, ...(method === 'POST' ? { 'content-type': 'application/jose+json' } : {}) },
    body: typeof body === 'string' ? body : null,
    timeout: REQUEST_TIMEOUT,
  })
  const data = parseAnswer(answer)
  refuseProblem(answer, data, clock())
  const headers = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]))
  return { data, status: answer.status, statusText: '', headers, config, request: null }
}

/** The server names the URLs of all further requests: they must be as safe as its own. */
function parseServerUrl(text: string): URL {
  if (URL.canParse(text) && new URL(text).protocol === 'https:') return new URL(text)
  throw new AcmeProblem('', `the server names "${formatForDisplay(text)}", which is not an https URL`, 'server')
}

/** JSON as a value, PEM as a text. */
function parseAnswer({ body, headers, isComplete }: HttpAnswer): unknown {
  if (!isComplete) throw new AcmeProblem('', 'the answer of the server is too large', 'server')
  const text = body.toString('utf8')
  if (!/^application\/(?:problem\+)?json/i.test(headers['content-type'] ?? '')) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new AcmeProblem('', 'the answer of the server is not JSON', 'server')
  }
}

/** The library repeats a request itself after `badNonce`, which happens all the time (RFC 8555 section 6.5). */
function refuseProblem({ status, headers }: HttpAnswer, data: unknown, now: number): void {
  if (status < 400) return
  const problem = readRequestProblem(data, { status, retryAfter: headers['retry-after'], now })
  if (problem.type !== 'badNonce') throw problem
}

async function readRenewalWindow({ url, http, userAgent }: DirectoryDeps, id: string): Promise<RenewalWindow | null> {
  const get = async (from: URL): Promise<unknown> => {
    const headers = { 'user-agent': userAgent }
    const answer = await http.send('GET', { url: from, headers, body: null, timeout: REQUEST_TIMEOUT })
    return answer.status === 200 ? parseAnswer(answer) : null
  }
  const base = ownValueOf(await get(url), 'renewalInfo')
  if (typeof base !== 'string') return null
  const suggested = ownValueOf(await get(parseServerUrl(`${base}/${id}`)), 'suggestedWindow')
  if (!isRecord(suggested)) return null
  const [start, end] = [Date.parse(String(suggested['start'])), Date.parse(String(suggested['end']))]
  return start <= end ? { start, end } : null
}
