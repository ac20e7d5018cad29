<?php
/** The application, with the group `web` of Laravel: sessions and CSRF tokens. */
require '/usr/share/php/Illuminate/autoload.php';
require '/usr/share/php/GuzzleHttp/autoload.php';

spl_autoload_register(function ($class) {
    if (str_starts_with($class, 'App\\')) {
        require dirname(__DIR__) . '/app' . str_replace('\\', '/', substr($class, 3)) . '.php';
    }
});

class HttpKernel extends Illuminate\Foundation\Http\Kernel
{
    protected $middlewareGroups = [
        'web' => [
            Illuminate\Cookie\Middleware\EncryptCookies::class,
            Illuminate\Session\Middleware\StartSession::class,
            Illuminate\Foundation\Http\Middleware\VerifyCsrfToken::class,
        ],
    ];
}

class ConsoleKernel extends Illuminate\Foundation\Console\Kernel
{
    protected function commands()
    {
        require base_path('routes/console.php');
    }
}

class RouteServiceProvider extends Illuminate\Foundation\Support\Providers\RouteServiceProvider
{
    public function boot()
    {
        $this->routes(fn () => Route::middleware('web')->group(base_path('routes/web.php')));
    }
}

$app = new Illuminate\Foundation\Application(dirname(__DIR__));
$app->singleton(Illuminate\Contracts\Http\Kernel::class, HttpKernel::class);
$app->singleton(Illuminate\Contracts\Console\Kernel::class, ConsoleKernel::class);
$app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Illuminate\Foundation\Exceptions\Handler::class);
return $app;
