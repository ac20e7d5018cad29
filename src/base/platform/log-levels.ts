/** The levels of the log, lowest first. The configuration needs them without the library that writes the log. */

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

export type LogLevel = (typeof logLevels)[number]
