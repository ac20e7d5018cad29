/** Defines what the daemon is given from outside, and how its parts are stopped. */
import type { Config } from '../../base/config/complete.js'
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { AddressHider } from '../../base/platform/log-privacy.js'
import type { LogTail } from '../../base/platform/log-tail.js'
import type { RoomLogs } from '../../base/platform/room-logs.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { UpgradeSettings } from '../upkeep/database-upgrade.js'
import type { Edges } from './edges.js'

/** Milliseconds for clients to finish, and then for attempts. Together they are less than systemd's stop timeout. */
export const defaultStopTimeouts = { listeners: 5_000, delivery: 20_000 }

export interface DaemonOptions {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  /** The newest lines of `log`. If it is absent, the page of the log is empty. */
  readonly logTail?: Pick<LogTail, 'read'> | undefined
  /** Hides local parts in the lines of `log`. If it is absent, nothing is hidden. */
  readonly addressHider?: Pick<AddressHider, 'useKey' | 'setEnabled'> | undefined
  /** Tests set it. */
  readonly edges?: Partial<Edges>
  readonly stopTimeouts?: typeof defaultStopTimeouts
  /** The files of the dashboard. If it is absent, they are where the build puts them. */
  readonly uiFolder?: string | undefined
  /** Loads what the first inbound message needs before the listeners open; otherwise that message waits for it. */
  readonly loadsAhead?: boolean
  /** How a database of an earlier version is upgraded. */
  readonly upgrade?: UpgradeSettings | undefined
  /** Another daemon works on the database now, so this one must end. */
  readonly onTaken?: () => void
}

/** The options as the parts of the daemon are given them. */
export interface StartOptions extends Omit<DaemonOptions, 'config'> {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly logs: RoomLogs
  /** Null if nothing is measured. */
  readonly observers: Observers | null
}

/** How to stop what was started, in the order of the starts. */
export type StopSteps = (() => Promise<void> | void)[]

/** Takes the steps in reverse order. A failing step does not keep the others from running. */
export async function stopAll(steps: StopSteps, log: Log): Promise<void> {
  for (const stop of steps.splice(0).reverse()) {
    try {
      await stop()
    } catch (error) {
      log.error({ err: error }, 'a step of stopping failed')
    }
  }
}
