/**
 * One order, from its creation to its certificate.
 *
 * The order and the key of its certificate are stored as soon as the server knows the order, so that a process that was
 * killed at any step goes on where it was. Each order has one name: a name that cannot be validated keeps no other from
 * its certificate.
 */
import { generateKeyPair } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { DomainName } from '../../base/mail/address.js'
import type { TlsPair } from '../../base/platform/tls-files.js'
import type { AcmeAccount, Challenge, ChallengeType, Order } from './acme-directory.js'
import { AcmeProblem } from './acme-problem.js'
import type { ChallengeAnswers } from './challenge-answers.js'
import type { ChallengeRows } from './challenge-rows.js'
import type { NameLeases, StoredOrder } from './name-leases.js'

interface OrderDeps {
  readonly account: AcmeAccount
  readonly accountUrl: string
  readonly leases: Pick<NameLeases, 'readOrder' | 'storeOrder' | 'removeOrder'>
  readonly answers: ChallengeAnswers
  readonly challenges: Pick<ChallengeRows, 'add' | 'remove'>
  readonly type: ChallengeType
  /** The RFC 9773 id of the certificate that is renewed. Null if there is none, or the server does not use it. */
  readonly replaces: string | null
  readonly onCreated: () => void
  /** The work ends at its next step. */
  readonly signal: AbortSignal
}

/** Milliseconds between looks at an order. They are nearly two minutes in all. */
const waits = [200, 300, 500, 1_000, 1_000, 2_000, 2_000, 3_000, ...Array<number>(20).fill(5_000)]

interface OpenOrder {
  readonly order: Order
  readonly key: string
}

/** Rejects with an AcmeProblem if the server refuses, and with an HttpFault if it does not answer. */
export async function placeOrder(deps: OrderDeps, name: DomainName): Promise<TlsPair> {
  const { order, key } = (await resumeOrder(deps, name)) ?? (await createOrder(deps, name))
  const answers: RemoveAnswer[] = []
  try {
    const cert = await driveOrder(deps, name, { order, key }, answers)
    return { cert, key }
  } catch (error) {
    // If an order failed because of the name, it cannot succeed later. The next try continues any other.
    if (error instanceof AcmeProblem && error.subject === 'name') await deps.leases.removeOrder(name)
    throw error
  } finally {
    for (const remove of answers) await remove()
  }
}

/** Never rejects. */
type RemoveAnswer = () => Promise<void> | void

/** Null if no order is under way, or if it can no longer succeed. */
async function resumeOrder({ leases, account, accountUrl }: OrderDeps, name: DomainName): Promise<OpenOrder | null> {
  const stored = await leases.readOrder(name)
  if (stored === null || stored.account !== accountUrl) return null
  try {
    const order = await account.readOrder(stored.url)
    return order.status === 'invalid' ? null : { order, key: stored.key }
  } catch (error) {
    if (error instanceof AcmeProblem && error.subject === 'name') return null
    throw error
  }
}

async function createOrder(deps: OrderDeps, name: DomainName): Promise<OpenOrder> {
  const { account, accountUrl, leases, replaces, onCreated } = deps
  const key = await createKey()
  const order = await account.createOrder(name, replaces).catch((error: unknown) => {
    const isReplaced = error instanceof AcmeProblem && error.type === 'alreadyReplaced'
    if (isReplaced) return account.createOrder(name, null)
    throw error
  })
  onCreated()
  const stored: StoredOrder = { url: order.url, account: accountUrl, key }
  await leases.storeOrder(name, stored)
  return { order, key }
}

/** Resolves to the chain. `answers` has the functions that remove what was added. */
async function driveOrder(
  deps: OrderDeps,
  name: DomainName,
  { order: first, key }: OpenOrder,
  answers: RemoveAnswer[],
): Promise<string> {
  const { account, signal } = deps
  let order = first
  let isFinalized = false
  for (const wait of waits) {
    signal.throwIfAborted()
    if (order.status === 'valid') return account.readCertificate(order)
    if (order.status === 'invalid') throw await account.readOrderProblem(order)
    if (order.status === 'pending' && answers.length === 0) await answerChallenges(deps, name, order, answers)
    if (order.status === 'ready' && !isFinalized) {
      await account.finalize(order, name, key)
      isFinalized = true
    }
    await pause(wait, undefined, { signal })
    order = await account.readOrder(order.url)
  }
  throw new AcmeProblem('', `the server has not decided in time: the order is ${order.status}`, 'server')
}

async function answerChallenges(
  deps: OrderDeps,
  name: DomainName,
  order: Order,
  answers: RemoveAnswer[],
): Promise<void> {
  for (const challenge of await deps.account.readChallenges(order, deps.type)) {
    answers.push(await addAnswer(deps, name, challenge))
    await challenge.begin()
  }
}

/** The server may ask another daemon, which finds the answer to http-01 in the database. */
async function addAnswer(
  { answers, challenges, type }: OrderDeps,
  name: DomainName,
  { token, keyAuthorization, createCertificate }: Challenge,
): Promise<RemoveAnswer> {
  if (type === 'http-01') {
    await challenges.add(token, keyAuthorization)
    const forget = answers.addText(token, keyAuthorization)
    return async () => {
      forget()
      await challenges.remove(token)
    }
  }
  const key = await createKey()
  return answers.addCertificate(name, { key, cert: await createCertificate(key) })
}

const generate = promisify(generateKeyPair)

/** An ECDSA P-256 key in PEM. Every client that knows TLS 1.2 accepts it. */
export async function createKey(): Promise<string> {
  const { privateKey } = await generate('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}
