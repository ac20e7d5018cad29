/**
 * The engines that hold the data, and the one that this process uses.
 *
 * A process uses one engine, from its start. Statements are values of modules, so they ask here for which engine they
 * are compiled, when they are first used.
 */
export type Engine = 'sqlite' | 'postgres'

let inUse: Engine = 'sqlite'

/** Call this before the first statement is used. */
export function useEngine(engine: Engine): void {
  inUse = engine
}

export function engineInUse(): Engine {
  return inUse
}

/** Gives what the engine in use needs. What differs between the engines is in this folder, and nowhere else. */
export function pickByEngine<Part>(parts: Readonly<Record<Engine, Part>>): Part {
  return parts[inUse]
}
