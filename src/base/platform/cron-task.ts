/**
 * A task at times of the wall clock, in the form of crontab(5). A time that is missed, because the clock was set forward
 * or the machine was suspended, is not made up for.
 */
import { schedule } from 'node-cron'

interface CronTask {
  /**
   * Finds the next time again. If the clock was set back, it would otherwise wait for the time that it had found
   * before.
   */
  readonly reschedule: () => void
  readonly stop: () => void
}

/** `run` never throws, and knows itself whether it still runs. */
export function startCronTask(expression: string, run: () => void): CronTask {
  // If the option is absent, missed times are written to standard error, outside of the log.
  const start = (): ReturnType<typeof schedule> => schedule(expression, run, { suppressMissedWarning: true })
  let task = start()
  return {
    reschedule: () => {
      void task.destroy()
      task = start()
    },
    stop: () => void task.destroy(),
  }
}
