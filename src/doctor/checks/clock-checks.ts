/** Checks the clock against time servers (SNTP), or else against the field Date of a web server. */
import { isIP } from 'node:net'
import { errorMessageOf } from '../../platform/errors.js'
import { getOverHttps } from '../../platform/http/https-get.js'
import { measureClockOffset } from '../../platform/sntp.js'
import { recordsOf } from '../answers.js'
import { ANSWER_TIMEOUT, type Check, type CheckDeps } from '../check.js'
import { failure, good, type Judgement, type Remedy, undecided, warning } from '../finding.js'

/** Milliseconds for one time server. */
const SNTP_TIMEOUT = 2_000
/** Milliseconds that are a finding; the field Date has whole seconds. */
const [WARN_OFFSET, FAIL_OFFSET] = [2_000, 60_000]
const DATE_PRECISION = 1_000

export const clockChecks: readonly Check[] = [
  { name: 'clock', summary: 'the clock is right: signatures, certificates and schedules need it', run: checkClock },
]

async function checkClock(deps: CheckDeps): Promise<readonly Judgement[]> {
  const { config, clock, resolver } = deps
  if (config.doctor.ntp_servers.length === 0 && config.doctor.time_url === null) {
    return [good('clock', 'not checked: doctor.ntp_servers and doctor.time_url are empty')]
  }
  for (const { host, port } of config.doctor.ntp_servers) {
    const address = isIP(host) === 0 ? recordsOf(await resolver.resolveAddresses(host))[0] : host
    if (address === undefined) continue
    const offset = await measureClockOffset({ address, port }, { clock, timeout: SNTP_TIMEOUT })
    if (offset !== null) return [judgeOffset(`SNTP ${host}`, offset, 0)]
  }
  return [await checkDate(deps)]
}

async function checkDate({ config, clock, resolver, authorities }: CheckDeps): Promise<Judgement> {
  const url = config.doctor.time_url
  if (url === null) return undecided('clock', 'no time server answered', commands)
  try {
    const addresses = recordsOf(await resolver.resolveAddresses(url.hostname))
    const limits = { timeout: ANSWER_TIMEOUT, maxBytes: 1, authorities }
    const { date } = await getOverHttps(url, { ...limits, addresses })
    if (date === null) return undecided('clock', `no time server answered, and ${url.host} sent no date`, commands)
    return judgeOffset(`Date of ${url.host}`, clock() - date, DATE_PRECISION)
  } catch (error) {
    return undecided('clock', `no time server answered, nor ${url.host}: ${errorMessageOf(error)}`, commands)
  }
}

const commands: Remedy = ['timedatectl', 'apt-get install systemd-timesyncd', 'timedatectl set-ntp true']

/** `offset`: milliseconds that this clock is ahead. */
export function judgeOffset(subject: string, offset: number, precision: number): Judgement {
  const size = Math.max(0, Math.abs(offset) - precision)
  const text = `the clock is ${formatSeconds(Math.abs(offset))} s ${offset < 0 ? 'behind' : 'ahead'}`
  if (size >= FAIL_OFFSET) return failure(subject, `${text}: DKIM, certificates and one-time codes fail`, commands)
  return size >= WARN_OFFSET ? warning(subject, text, commands) : good(subject, text)
}

function formatSeconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(1)
}
