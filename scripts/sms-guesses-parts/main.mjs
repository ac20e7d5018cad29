// How many verification codes are broken by guessing, beside the chance that docs/sms.md states: 3 / 10^digits a code.
//
// Codes are sent and checked by the code of the daemon on a database in a temporary folder. An attacker who does not
// know a code guesses it three times, each time another one, then asks for a new code. Fails if the number of broken
// codes lies outside of the interval that holds it in all but one of ten thousand runs, if a fourth check is answered
// by anything but `max_attempts`, or if the records disagree with the answers.
import { createSecretKey, randomBytes, randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { openDatabase } from '../../dist/src/base/storage/open.js'
import { createCodeChecker } from '../../dist/src/workspaces/sms/check-code.js'
import { deriveCodeKey } from '../../dist/src/workspaces/sms/code-hash.js'
import { createCodeSender } from '../../dist/src/workspaces/sms/send-code.js'

const total = Number(process.argv[2] ?? 1_000_000)
if (!Number.isSafeInteger(total) || total < 3) throw new Error('usage: scripts/sms-guesses [GUESSES]')
const LENGTHS = [4, 6]
const GUESSES_A_CODE = 3
/** Phones that are attacked beside each other: their commits share transactions, as in a daemon. */
const PHONES = 1_000
/** The share of runs that fail though all is well, on each side. */
const ERROR = 0.00005

const workspaceId = 'ws_guesses'
const provider = {
  name: 'log',
  send: async () => ({ kind: 'accepted', messageIds: [] }),
  stop: async () => undefined,
}

async function openService(folder) {
  const database = await openDatabase({ file: join(folder, 'posthorn.db') })
  await database.commit([
    {
      sql: 'insert into workspaces (id, name, slug, plan, created_at) values (?, ?, ?, ?, 0)',
      parameters: [workspaceId, 'guesses', 'guesses', 'unlimited'],
    },
  ])
  const codeKey = deriveCodeKey(createSecretKey(randomBytes(32)))
  const common = {
    read: database.read,
    commit: database.commit,
    clock: () => Date.now(),
    log: pino({ enabled: false }),
    codeKey,
  }
  const send = createCodeSender({
    ...common,
    provider,
    allowedCountries: ['DE'],
    watch: { findHold: async () => null },
    charger: { charge: () => ({ writes: [], findRefusal: () => null }) },
    countSent: () => [],
    buildReceiptUrl: () => '',
  })
  return { database, send, check: createCodeChecker(common) }
}

/** Different ones, each as likely as another. */
function pickGuesses(digits) {
  const guesses = new Set()
  while (guesses.size < GUESSES_A_CODE) guesses.add(String(randomInt(10 ** digits)).padStart(digits, '0'))
  return guesses
}

/** Whether the code was broken. */
async function attackCode({ send, check }, phone, digits, counts) {
  await send({ workspaceId, phone, template: undefined, codeLength: digits, expiryMinutes: 10, metadata: null })
  counts.codes += 1
  for (const code of pickGuesses(digits)) {
    counts.guesses += 1
    const { valid } = await check({ workspaceId, phone, code })
    if (!valid) continue
    counts.broken += 1
    return
  }
  const { status } = await check({ workspaceId, phone, code: '0000' })
  if (status !== 'max_attempts') counts.faults += 1
}

async function attackPhone(service, phone, digits, counts) {
  while (counts.guesses < total) await attackCode(service, phone, digits, counts)
}

/** The chance of at most `most` codes, if `mean` are expected (Poisson: the codes are many, the chance is small). */
function chanceOfAtMost(most, mean) {
  let term = Math.exp(-mean)
  let sum = term
  for (let count = 1; count <= most; count += 1) {
    term *= mean / count
    sum += term
  }
  return sum
}

function intervalOf(mean) {
  let least = 0
  while (chanceOfAtMost(least, mean) < ERROR) least += 1
  let most = least
  while (chanceOfAtMost(most, mean) < 1 - ERROR) most += 1
  return { least, most }
}

function findDisagreement({ read }, { codes, broken }) {
  const [{ verified, sent }] = read(
    "select count(*) sent, count(*) filter (where status = 'verified') verified from sms_codes",
    [],
  )
  return verified === broken && sent === codes ? null : `the records have ${sent} codes, ${verified} of them verified`
}

async function attack(digits) {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-guesses-'))
  try {
    const begun = performance.now()
    const service = await openService(folder)
    const counts = { guesses: 0, codes: 0, broken: 0, faults: 0 }
    const phones = Array.from({ length: PHONES }, (_, place) => `+4915123${String(place).padStart(6, '0')}`)
    await Promise.all(phones.map((phone) => attackPhone(service, phone, digits, counts)))
    const disagreement = findDisagreement(service.database, counts)
    await service.database.close()
    return report(digits, counts, disagreement, (performance.now() - begun) / 1_000)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function report(digits, { guesses, codes, broken, faults }, disagreement, seconds) {
  const chance = GUESSES_A_CODE / 10 ** digits
  const { least, most } = intervalOf(codes * chance)
  const isInside = broken >= least && broken <= most
  console.log(
    `${digits} digits: ${guesses} guesses of ${codes} codes broke ${broken}, a share of ${(broken / codes).toExponential(2)};` +
      ` stated: ${chance.toExponential(2)}, so ${(codes * chance).toFixed(2)} codes, 99.99 %: ${least} to ${most};` +
      ` ${seconds.toFixed(0)} s`,
  )
  if (!isInside) console.log('  FAILED: outside of the interval')
  if (faults > 0) console.log(`  FAILED: ${faults} fourth checks were not answered max_attempts`)
  if (disagreement !== null) console.log(`  FAILED: ${disagreement}`)
  return isInside && faults === 0 && disagreement === null
}

const results = []
for (const digits of LENGTHS) results.push(await attack(digits))
if (results.includes(false)) process.exitCode = 1
