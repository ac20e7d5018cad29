/** The settings of where the data is, `storage`, of the daemon among those that use it, `node`, and of its copy, `standby`. */
import * as value from './values.js'

export const standbySettings = {
  folder: value.pathOrNone.prefault(''),
  interval: value.duration('1h').prefault('1s'),
  snapshot_every: value.duration('30d').prefault('1d'),
  keep: value.count(1, 100).prefault(2),
}

export const storageSettings = {
  url: value.postgresUrlOrNone.prefault(''),
  password_file: value.pathOrNone.prefault(''),
  ca_file: value.pathOrNone.prefault(''),
  schema: value.schemaName.prefault('posthorn'),
  connections: value.count(1, 32).prefault(4),
}

export const nodeSettings = {
  name: value.nodeName.prefault(''),
}
