/**
 * The engines that hold the data, and the one that this process uses.
 *
 * A process uses one engine, from its start. Statements are values of modules, so they ask here for which engine they
 * are compiled, when they are first used.
 */
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

export type Engine = 'sqlite' | 'postgres'

/** Under this name a thread finds the engine of the one that has started it. */
const KEY = 'posthorn:engine'

let inUse: Engine = getEnvironmentData(KEY) === 'postgres' ? 'postgres' : 'sqlite'

/** Call this before the first statement is used, and before a thread starts that makes writes. */
export function useEngine(engine: Engine): void {
  inUse = engine
  setEnvironmentData(KEY, engine)
}

export function engineInUse(): Engine {
  return inUse
}

/** Gives what the engine in use needs. What differs between the engines is in this folder, and nowhere else. */
export function pickByEngine<Part>(parts: Readonly<Record<Engine, Part>>): Part {
  return parts[inUse]
}
