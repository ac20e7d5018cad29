/**
 * The jobs of one thread, by webhook. As many run at a time as each job allows, and the others wait behind them in
 * order.
 *
 * The thread gets more jobs than it runs, so that a fast endpoint does not wait for the main thread. If one fails,
 * the queue gives back those that wait behind it, and the main thread decides how to continue.
 */
interface QueuedJob {
  readonly webhookId: string
  /** Jobs of the webhook that may run at a time. */
  readonly limit: number
}

interface QueueDeps<Job> {
  /** Resolves to whether the job succeeded. Never rejects. */
  readonly run: (job: Job) => Promise<boolean>
  readonly giveBack: (job: Job) => void
}

interface Endpoint<Job> {
  running: number
  waiting: Job[]
}

export class EndpointQueue<Job extends QueuedJob> {
  private readonly endpoints = new Map<string, Endpoint<Job>>()

  constructor(private readonly deps: QueueDeps<Job>) {}

  add(job: Job): void {
    const endpoint = this.endpoints.get(job.webhookId) ?? { running: 0, waiting: [] }
    this.endpoints.set(job.webhookId, endpoint)
    endpoint.waiting.push(job)
    this.startNext(job.webhookId, endpoint)
  }

  private startNext(id: string, endpoint: Endpoint<Job>): void {
    const [next] = endpoint.waiting
    if (next === undefined) {
      if (endpoint.running === 0) this.endpoints.delete(id)
      return
    }
    if (endpoint.running >= next.limit) return
    endpoint.waiting.shift()
    endpoint.running += 1
    void this.deps.run(next).then((succeeded) => {
      endpoint.running -= 1
      if (!succeeded) for (const job of endpoint.waiting.splice(0)) this.deps.giveBack(job)
      this.startNext(id, endpoint)
    })
    this.startNext(id, endpoint)
  }
}
