/**
 * The logs of the rooms. They share lines and output, but each has a separate level that changes while the daemon runs.
 */
import type { Log } from './log.js'
import type { LogLevel } from './log-levels.js'

/** The rooms that `log.levels` can set a level for. Any other room has the level of the entire log. */
export const logRooms = [
  'smtp',
  'api',
  'dns',
  'broadcasts',
  'notices',
  'delivery',
  'receiving',
  'spam',
  'tracking',
  'exports',
  'webhooks',
  'domains',
  'imports',
  'sms',
  'doctor',
  'storage',
] as const

type LogRoom = (typeof logRooms)[number]

type RoomLevels = Readonly<Partial<Record<LogRoom, LogLevel>>>

export class RoomLogs {
  private readonly logs: ReadonlyMap<LogRoom, Log>

  /** `root` keeps its level at first. */
  constructor(
    private readonly root: Log,
    levels: RoomLevels,
  ) {
    this.logs = new Map(logRooms.map((room) => [room, root.child({}, { level: levels[room] ?? root.level })]))
  }

  of(room: LogRoom): Log {
    return this.logs.get(room) ?? this.root
  }

  /** Sets the level of the entire log, and of each room in `levels`. */
  setLevels(level: LogLevel, levels: RoomLevels): void {
    this.root.level = level
    for (const [room, log] of this.logs) log.level = levels[room] ?? level
  }
}
