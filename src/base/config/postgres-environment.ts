/** Reads from the environment what clients of PostgreSQL find there, by the names of libpq. */

interface PostgresEnvironment {
  readonly PGPASSWORD: string | undefined
  readonly PGPASSFILE: string | undefined
  readonly PGUSER: string | undefined
  readonly HOME: string | undefined
}

export function readPostgresEnvironment(environment: NodeJS.ProcessEnv = process.env): PostgresEnvironment {
  const { PGPASSWORD, PGPASSFILE, PGUSER, HOME } = environment
  return { PGPASSWORD, PGPASSFILE, PGUSER, HOME }
}
