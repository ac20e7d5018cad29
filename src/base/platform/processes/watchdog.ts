/**
 * Tells the watchdog of systemd that the daemon works (sd_watchdog_enabled(3)). A *beat* shows that the event loop runs
 * and that a probe was answered.
 *
 * A beat is due at half of the time that systemd allows. At each beat a probe is made, and the next beat waits until it
 * has been answered: an event loop that hangs makes no beat, and a writer thread that hangs prevents it too.
 */

/**
 * Milliseconds between beats. Null if systemd expects none of this process. `env` is the environment of the process.
 */
export function readBeatInterval(env: Readonly<Record<string, string | undefined>>, pid: number): number | null {
  const { WATCHDOG_USEC: time = '', WATCHDOG_PID: owner = '' } = env
  if (!/^[1-9]\d{0,15}$/.test(time) || (owner !== '' && owner !== String(pid))) return null
  return Math.max(1, Math.floor(Number(time) / 2_000))
}

interface WatchdogDeps {
  /** Milliseconds. */
  readonly interval: number
  /** Resolves when the thread has answered. */
  readonly probe: () => Promise<void>
  readonly beat: () => void
}

interface Watchdog {
  /** Continues to beat without probes, because the parts that they ask are being stopped. */
  readonly stopProbes: () => void
  readonly stop: () => void
}

export function startWatchdog({ interval, probe, beat }: WatchdogDeps): Watchdog {
  let isAnswered = true
  let isDue = false
  let isProbing = true
  const beatNow = (): void => {
    isDue = false
    beat()
    if (isProbing) startProbe()
  }
  const startProbe = (): void => {
    isAnswered = false
    void probe().then(() => {
      isAnswered = true
      if (isDue) beatNow()
    })
  }
  const timer = setInterval(() => {
    isDue = true
    if (isAnswered || !isProbing) beatNow()
  }, interval)
  beatNow()
  return {
    stopProbes: () => {
      isProbing = false
    },
    stop: () => clearInterval(timer),
  }
}
