# Installs majordomo for the current user:
#
#   irm https://github.com/majordomo-llm/majordomo/releases/latest/download/install.ps1 | iex
#
# $env:MAJORDOMO_VERSION   a version such as 0.1.0, else the latest
# $env:MAJORDOMO_BIN_DIR   where the program goes, else %LOCALAPPDATA%\Programs\majordomo
# $env:MAJORDOMO_BASE_URL  where archives are, else the project's releases
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

function Install-Majordomo {
    if ($env:PROCESSOR_ARCHITECTURE -ne 'AMD64') {
        throw "no release for $env:PROCESSOR_ARCHITECTURE; build it with: cargo install majordomo-cli"
    }
    $target = 'x86_64-pc-windows-msvc'
    $releases = 'https://github.com/majordomo-llm/majordomo/releases'
    if ($env:MAJORDOMO_BASE_URL) { $base = $env:MAJORDOMO_BASE_URL }
    elseif ($env:MAJORDOMO_VERSION) { $base = "$releases/download/v$env:MAJORDOMO_VERSION" }
    else { $base = "$releases/latest/download" }

    $folder = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory -Path $folder | Out-Null
    try {
        $sums = Join-Path $folder 'SHA256SUMS'
        Invoke-WebRequest -UseBasicParsing "$base/SHA256SUMS" -OutFile $sums
        $line = Get-Content $sums | Where-Object { $_ -match "  majordomo-.*-$target\.zip$" }
        if (-not $line) { throw "this release has no archive for $target" }
        $expected, $archive = $line -split '  ', 2
        $file = Join-Path $folder $archive
        Invoke-WebRequest -UseBasicParsing "$base/$archive" -OutFile $file
        if ((Get-FileHash $file -Algorithm SHA256).Hash -ne $expected) {
            throw "$archive does not match its checksum"
        }
        Expand-Archive $file -DestinationPath $folder
        $bin = $env:MAJORDOMO_BIN_DIR
        if (-not $bin) { $bin = Join-Path $env:LOCALAPPDATA 'Programs\majordomo' }
        New-Item -ItemType Directory -Force -Path $bin | Out-Null
        $unpacked = Join-Path $folder ($archive -replace '\.zip$', '')
        Copy-Item (Join-Path $unpacked 'majordomo.exe') (Join-Path $bin 'majordomo.exe') -Force
        Write-Output "installed in $bin; start it with: $bin\majordomo.exe serve"
    }
    finally {
        Remove-Item -Recurse -Force $folder
    }
}

Install-Majordomo
