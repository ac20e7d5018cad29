/** Bounds reads that add up the rows of all slots (`Slot`): no installation has had more writers. */
import { pickByEngine } from './engine.js'

export function maxSlots(): number {
  return pickByEngine({ sqlite: 1, postgres: 256 })
}
